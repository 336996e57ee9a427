// Balanced `()`, `[]` and `{}`, at least 5 deep, all three kinds.
#include "planted.h"

TARGET(const u8 *p, u32 n) {
  u8 stack[32];
  u32 depth = 0, deepest = 0, kinds = 0;
  for (u32 i = 0; i < n; i++) {
    u8 c = p[i], want;
    switch (c) {
    case '(': want = ')'; kinds |= 1; break;
    case '[': want = ']'; kinds |= 2; break;
    case '{': want = '}'; kinds |= 4; break;
    case ')': case ']': case '}':
      if (depth == 0 || stack[--depth] != c) return INVALID;
      continue;
    default: continue;
    }
    if (depth == sizeof stack) return INVALID;
    stack[depth++] = want;
    if (depth > deepest) deepest = depth;
  }
  if (depth != 0) return INVALID;
  if (deepest >= 5 && kinds == 7) FAULT();
  return VALID;
}
