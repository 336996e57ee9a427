// A 16-bit little-endian length equal to what follows it, then 0xCAFE, big-endian.
#include "planted.h"

TARGET(const u8 *p, u32 n) {
  if (n < 6) return INVALID;
  if (le16(p) != n - 2) return INVALID;
  if (be16(p + 2) != 0xCAFE) return VALID;
  FAULT();
}
