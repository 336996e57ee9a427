import { mean } from "./mean";

export function LLVMFuzzerTestOneInput(data: usize, size: i32): i32 {
  const text = new Uint8Array(size);
  memory.copy(text.dataStart, data, size);
  return mean(text) < 0 ? -1 : 0;
}
