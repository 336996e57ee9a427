// Twelve bytes, each in a comparison of its own.
#include "planted.h"

TARGET(const u8 *p, u32 n) {
  if (n < 12) return INVALID;
  if (p[0] != 0x89) return INVALID;
  if (p[1] != 'S') return INVALID;
  if (p[2] != 'G') return INVALID;
  if (p[3] != 'L') return INVALID;
  if (p[4] != 0x0D) return VALID;
  if (p[5] != 0x0A) return VALID;
  if (p[6] != 0x1A) return VALID;
  if (p[7] != 0x0A) return VALID;
  if (p[8] != 0xF1) return VALID;
  if (p[9] != 0x03) return VALID;
  if (p[10] != 0x77) return VALID;
  if (p[11] != 0xC4) return VALID;
  FAULT();
}
