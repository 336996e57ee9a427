// A generator of sums in text, and the target that evaluates them. 97 on its own is the planted bug.
#include "../sandglass.h"

enum { LEVELS = 4 };

static void sum(int levels) {
  SG_SPAN("sum");
  static const char *const operators[] = {"+", "-", "*"};
  if (levels == 0 || sg_bool(SG_STRUCTURE)) {
    sg_emit_int(sg_int(SG_VALUE, 0, 99));
    return;
  }
  sg_emit_text("(");
  sum(levels - 1);
  sg_emit_text(sg_word(SG_VALUE, operators, 3));
  sum(levels - 1);
  sg_emit_text(")");
}

SG_GENERATOR { sum(LEVELS); }

static const uint8_t *at, *end;

static int number(int32_t *value) {
  const uint8_t *start = at;
  for (*value = 0; at < end && *at >= '0' && *at <= '9' && at - start < 4; at++) *value = *value * 10 + (*at - '0');
  return at > start;
}

static int evaluate(int32_t *value, int levels) {
  if (levels < 0 || at == end) return 0;
  if (*at != '(') return number(value);
  at++;
  int32_t left, right;
  if (!evaluate(&left, levels - 1) || at == end) return 0;
  uint8_t operator = *at++;
  if (!evaluate(&right, levels - 1) || at == end || *at++ != ')') return 0;
  switch (operator) {
  case '+': *value = (int32_t)((uint32_t)left + (uint32_t)right); return 1;
  case '-': *value = (int32_t)((uint32_t)left - (uint32_t)right); return 1;
  case '*': *value = (int32_t)((uint32_t)left * (uint32_t)right); return 1;
  default: return 0;
  }
}

SG_TARGET(data, size) {
  at = data, end = data + size;
  int32_t value;
  if (!evaluate(&value, 100) || at != end) return SG_INVALID;
  if (value == 97 && size == 2) SG_FAIL();
  return SG_VALID;
}
