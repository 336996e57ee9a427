// Bytes 2 and 3, read as one big-endian number, are 0xBEEF.
#include "planted.h"

TARGET(const u8 *p, u32 n) {
  if (n < 4) return INVALID;
  if (be16(p + 2) == 0xBEEF) FAULT();
  return VALID;
}
