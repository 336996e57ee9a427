/** The mean of the digits in `mean:1,2,3`; -1 if the text is something else. */
export function mean(text: Uint8Array): i32 {
  const head = "mean:";
  if (text.length < head.length) return -1;
  for (let i = 0; i < head.length; i++) {
    if (<i32>text[i] != head.charCodeAt(i)) return -1;
  }
  let sum: u32 = 0;
  let count: u32 = 0;
  for (let i = head.length; i < text.length; i++) {
    const byte = text[i];
    if (byte < 48 || byte > 57) continue;
    sum += byte - 48;
    count++;
  }
  return sum / count; // the planted fault: there may be no digits
}
