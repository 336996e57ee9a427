// A call of a memcmp that is not inlined, on 16 bytes.
#include "planted.h"

static const u8 KEY[16] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};

__attribute__((noinline)) int memcmp(const void *a, const void *b, unsigned long n) {
  const u8 *x = a, *y = b;
  for (; n; n--, x++, y++)
    if (*x != *y) return *x - *y;
  return 0;
}

TARGET(const u8 *p, u32 n) {
  if (n < 20) return INVALID;
  if (memcmp(p + 4, KEY, 16) == 0) FAULT();
  return VALID;
}
