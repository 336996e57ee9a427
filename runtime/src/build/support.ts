// What the sandbox needs of a module in AssemblyScript beside its harness.

// Inputs go to memory that the harness could have allocated itself.
export function malloc(size: usize): usize {
  return heap.alloc(size);
}

export function free(pointer: usize): void {
  heap.free(pointer);
}

@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: i32, parts: usize, count: i32, written: usize): i32;

// What a failed check and a thrown error call: says why, and ends the run.
@global
function sandglass_abort(message: string | null, file: string | null, line: u32, column: u32): void {
  const what = message ? message : "aborted";
  const where = file ? file : "?";
  const text = String.UTF8.encode(`panic: ${what} at ${where}:${line}:${column}\n`);
  const part = memory.data(12);
  store<usize>(part, changetype<usize>(text));
  store<i32>(part, text.byteLength, sizeof<usize>());
  fd_write(2, part, 1, part + 8);
  unreachable();
}
