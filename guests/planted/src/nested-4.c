// Four conditions on four bytes, each inside the other.
#include "planted.h"

TARGET(const u8 *p, u32 n) {
  if (n < 16) return INVALID;
  if (p[1] == 0x5A) {
    if (p[4] > 0xF0) {
      if ((u8)(p[7] - p[4]) == 0x21) {
        if ((p[12] & 0xE7) == 0xA5) FAULT();
        return 0;
      }
    }
  }
  return VALID;
}
