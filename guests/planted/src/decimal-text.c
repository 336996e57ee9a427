// `n=` and the decimal number 48879.
#include "planted.h"

TARGET(const u8 *p, u32 n) {
  if (n < 3 || p[0] != 'n' || p[1] != '=') return INVALID;
  u32 value = 0, i = 2;
  for (; i < n && p[i] >= '0' && p[i] <= '9'; i++) {
    if (value > 100000000) return INVALID;
    value = value * 10 + (p[i] - '0');
  }
  if (i == 2) return INVALID;
  if (value == 48879) FAULT();
  return VALID;
}
