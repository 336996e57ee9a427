// The byte `x` occurs exactly 7 times.
#include "planted.h"

TARGET(const u8 *p, u32 n) {
  u32 count = 0;
  for (u32 i = 0; i < n; i++)
    if (p[i] == 'x') count++;
  if (count == 7) FAULT();
  return count ? VALID : INVALID;
}
