// Byte 5 is 0xE7.
#include "planted.h"

TARGET(const u8 *p, u32 n) {
  if (n < 8) return INVALID;
  if (p[5] == 0xE7) FAULT();
  return VALID;
}
