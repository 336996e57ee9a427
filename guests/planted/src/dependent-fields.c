// A value in a tight range, then two values with 3a + 7 = b.
#include "planted.h"

TARGET(const u8 *p, u32 n) {
  if (n < 8) return INVALID;
  u32 x = le32(p), a = le16(p + 4), b = le16(p + 6);
  if (x < 0x1234567 || x > 0x1234570) return INVALID;
  if (a <= 1000) return VALID;
  if (a * 3 + 7 == b) FAULT();
  return VALID;
}
