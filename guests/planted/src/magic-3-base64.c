// The first four characters are the base64 of C7 1F 9A. The decoded bytes are compared one at a time.
#include "planted.h"

static int digit(u8 c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

TARGET(const u8 *p, u32 n) {
  if (n < 4) return INVALID;
  u32 bits = 0;
  for (u32 i = 0; i < 4; i++) {
    int d = digit(p[i]);
    if (d < 0) return INVALID;
    bits = bits << 6 | (u32)d;
  }
  volatile u8 out[3] = {(u8)(bits >> 16), (u8)(bits >> 8), (u8)bits};
  if (out[0] != 0xC7) return VALID;
  if (out[1] != 0x1F) return VALID;
  if (out[2] != 0x9A) return VALID;
  FAULT();
}
