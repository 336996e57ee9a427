// `+` and `-` count up and down, never below zero; `!` at exactly 10 is the fault.
#include "planted.h"

TARGET(const u8 *p, u32 n) {
  u32 count = 0;
  for (u32 i = 0; i < n; i++) {
    switch (p[i]) {
    case '+': count++; break;
    case '-':
      if (count == 0) return INVALID;
      count--;
      break;
    case '!':
      if (count == 10) FAULT();
      return VALID;
    default: break;
    }
  }
  return VALID;
}
