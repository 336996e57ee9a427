// Parses a JSON document into a tree of nodes, walks it, and does so again.
#include "bench.h"

struct node {
  u8 kind;
  u32 key, key_length, text, text_length;
  double number;
  struct node *child, *next;
};

static struct node nodes[1 << 15];
static u32 used;
static const u8 *at, *end, *base;

static void space(void) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
}

static int string(u32 *start, u32 *length) {
  if (at == end || *at != '"') return 0;
  *start = (u32)(++at - base);
  for (; at < end && *at != '"'; at++)
    if (*at == '\\') at++;
  *length = (u32)(at - base) - *start;
  return at++ < end;
}

static double number(void) {
  double value = 0, scale = 1;
  int negative = at < end && *at == '-';
  if (negative) at++;
  while (at < end && *at >= '0' && *at <= '9') value = value * 10 + (*at++ - '0');
  if (at < end && *at == '.')
    for (at++; at < end && *at >= '0' && *at <= '9'; at++) value += (scale /= 10) * (*at - '0');
  return negative ? -value : value;
}

static struct node *value(void) {
  space();
  if (at == end || used == sizeof nodes / sizeof *nodes) return 0;
  struct node *n = &nodes[used++];
  n->child = n->next = 0;
  n->kind = *at;
  switch (*at) {
  case '{':
  case '[': {
    u8 close = *at == '{' ? '}' : ']';
    struct node **tail = &n->child;
    at++, space();
    if (at < end && *at == close) return at++, n;
    for (;;) {
      u32 key = 0, key_length = 0;
      space();
      if (close == '}') {
        if (!string(&key, &key_length)) return 0;
        space();
        if (at == end || *at++ != ':') return 0;
      }
      struct node *member = value();
      if (!member) return 0;
      member->key = key, member->key_length = key_length;
      *tail = member, tail = &member->next;
      space();
      if (at == end) return 0;
      if (*at == close) return at++, n;
      if (*at++ != ',') return 0;
    }
  }
  case '"': return string(&n->text, &n->text_length) ? n : 0;
  case 't': case 'n': at += 4; return n;
  case 'f': at += 5; return n;
  default: n->number = number(), n->kind = '0'; return n;
  }
}

static u64 walk(const struct node *n) {
  u64 hash = n->kind;
  for (u32 i = 0; i < n->key_length; i++) hash = hash * 31 + base[n->key + i];
  if (n->kind == '"')
    for (u32 i = 0; i < n->text_length; i++) hash = hash * 31 + base[n->text + i];
  if (n->kind == '0') hash += (u64)(long long)(n->number * 1000);
  for (n = n->child; n; n = n->next) hash = hash * 17 + walk(n);
  return hash;
}

EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  u32 n = rounds(&data, &size);
  for (u32 i = 0; i < n; i++) {
    used = 0;
    base = at = data, end = data + size;
    struct node *root = value();
    if (!root) return -1;
    mix(walk(root));
  }
  return 0;
}
