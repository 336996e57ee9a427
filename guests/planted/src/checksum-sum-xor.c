// `S`, at least 6 bytes, then their sum and their xor, one byte each.
#include "planted.h"

TARGET(const u8 *p, u32 n) {
  if (n < 9 || p[0] != 'S') return INVALID;
  u8 sum = 0, xor = 0;
  for (u32 i = 1; i < n - 2; i++) {
    sum += p[i];
    xor ^= p[i];
  }
  if (p[n - 2] != sum) return INVALID;
  if (p[n - 1] != xor) return VALID;
  FAULT();
}
