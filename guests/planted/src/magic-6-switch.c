// A sparse switch on a 16-bit opcode; one of its cases wants a big-endian 32-bit value.
#include "planted.h"

TARGET(const u8 *p, u32 n) {
  if (n < 6) return INVALID;
  switch (le16(p)) {
  case 0x0101: return p[2] > 0x80 ? VALID : INVALID;
  case 0x2A17: return p[3] == p[4] ? VALID : INVALID;
  case 0x4D5A: return p[5] < 9 ? VALID : INVALID;
  case 0x9C3E:
    if (be32(p + 2) == 0x5EED1E55) FAULT();
    return VALID;
  case 0xD00D: return p[2] ^ p[3] ? VALID : INVALID;
  case 0xFFFE: return VALID;
  default: return INVALID;
  }
}
