// A small hand-written JSON parser: it checks the syntax, converts numbers and strings, and allocates nothing.
#include "harness.h"

struct parser {
  const uint8_t *at, *end;
  int depth;
  uint64_t digest; // so that no work can be optimised away
};

static int value(struct parser *p);

static void space(struct parser *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r')) p->at++;
}

static int eat(struct parser *p, uint8_t c) {
  if (p->at < p->end && *p->at == c) return p->at++, 1;
  return 0;
}

static int literal(struct parser *p, const char *text) {
  while (*text)
    if (!eat(p, (uint8_t)*text++)) return 0;
  return 1;
}

static int hex(struct parser *p, unsigned *out) {
  *out = 0;
  for (int i = 0; i < 4; i++) {
    if (p->at == p->end) return 0;
    uint8_t c = *p->at++;
    if (c >= '0' && c <= '9') *out = *out << 4 | (unsigned)(c - '0');
    else if (c >= 'a' && c <= 'f') *out = *out << 4 | (unsigned)(c - 'a' + 10);
    else if (c >= 'A' && c <= 'F') *out = *out << 4 | (unsigned)(c - 'A' + 10);
    else return 0;
  }
  return 1;
}

static int escape(struct parser *p) {
  unsigned unit, low;
  if (p->at == p->end) return 0;
  switch (*p->at++) {
  case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': return 1;
  case 'u':
    if (!hex(p, &unit)) return 0;
    if (unit >= 0xDC00 && unit < 0xE000) return 0;
    if (unit >= 0xD800 && unit < 0xDC00) {
      if (!eat(p, '\\') || !eat(p, 'u') || !hex(p, &low)) return 0;
      if (low < 0xDC00 || low >= 0xE000) return 0;
      unit = 0x10000 + ((unit - 0xD800) << 10 | (low - 0xDC00));
    }
    p->digest += unit;
    return 1;
  default: return 0;
  }
}

static int string(struct parser *p) {
  if (!eat(p, '"')) return 0;
  while (p->at < p->end) {
    uint8_t c = *p->at++;
    if (c == '"') return 1;
    if (c < 0x20) return 0;
    if (c == '\\' && !escape(p)) return 0;
    p->digest = p->digest * 31 + c;
  }
  return 0;
}

static int number(struct parser *p) {
  double value = 0, scale = 1;
  int negative = eat(p, '-'), exponent = 0, digits = 0;
  if (eat(p, '0')) digits = 1;
  else
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9') value = value * 10 + (*p->at++ - '0'), digits = 1;
  if (!digits) return 0;
  if (eat(p, '.')) {
    digits = 0;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9') scale /= 10, value += scale * (*p->at++ - '0'), digits = 1;
    if (!digits) return 0;
  }
  if (eat(p, 'e') || eat(p, 'E')) {
    int down = eat(p, '-');
    if (!down) eat(p, '+');
    digits = 0;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9') {
      if (exponent < 400) exponent = exponent * 10 + (*p->at - '0');
      p->at++, digits = 1;
    }
    if (!digits) return 0;
    for (int i = 0; i < exponent && i < 400; i++) value = down ? value / 10 : value * 10;
  }
  if (negative) value = -value;
  if (value > 1e9 || value < -1e9) p->digest++;
  else p->digest += (uint64_t)(int64_t)value;
  return 1;
}

static int members(struct parser *p, uint8_t close, int keyed) {
  if (++p->depth > 100) return 0;
  space(p);
  if (!eat(p, close)) {
    do {
      space(p);
      if (keyed) {
        if (!string(p)) return 0;
        space(p);
        if (!eat(p, ':')) return 0;
      }
      if (!value(p)) return 0;
      space(p);
    } while (eat(p, ','));
    if (!eat(p, close)) return 0;
  }
  p->depth--;
  return 1;
}

static int value(struct parser *p) {
  space(p);
  if (p->at == p->end) return 0;
  switch (*p->at) {
  case '{': p->at++; return members(p, '}', 1);
  case '[': p->at++; return members(p, ']', 0);
  case '"': return string(p);
  case 't': return literal(p, "true");
  case 'f': return literal(p, "false");
  case 'n': return literal(p, "null");
  default: return number(p);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct parser p = {data, data + size, 0, 0};
  int good = value(&p);
  space(&p);
  *(volatile uint64_t *)&p.digest = p.digest;
  return good && p.at == p.end ? ACCEPT : REJECT;
}
