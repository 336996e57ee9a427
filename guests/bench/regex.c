// A backtracking matcher: literals, `.`, classes, groups, alternation, `*`, `+`, `?`, by recursion over the pattern.
// The input, after the rounds: one line of pattern, then the text, which is searched from every position.
#include "bench.h"

static const u8 *pattern_end, *text_end;

// What is to be matched afterwards: the pattern at p; first, when `group` is set, that group once more, as long as
// something was consumed since `from`.
struct rest {
  const u8 *p, *group, *from;
  const struct rest *next;
};

static const u8 *match(const u8 *p, const u8 *t, const struct rest *rest);

// The end of the atom at p.
static const u8 *atom_end(const u8 *p) {
  int depth = 0;
  for (; p < pattern_end; p++) {
    if (*p == '\\') p++;
    else if (*p == '[') while (p < pattern_end && *p != ']') p++;
    else if (*p == '(') depth++;
    else if (*p == ')') depth--;
    if (depth == 0) return p + 1;
  }
  return pattern_end;
}

static int one(const u8 *p, u8 c) {
  if (*p == '.') return c != '\n';
  if (*p == '\\') return p[1] == 'd' ? c >= '0' && c <= '9' : p[1] == 's' ? c == ' ' : c == p[1];
  if (*p != '[') return c == *p;
  int negated = p[1] == '^', found = 0;
  for (p += 1 + negated; *p != ']'; p++)
    if (p[1] == '-' && p[2] != ']') found |= c >= p[0] && c <= p[2], p += 2;
    else found |= c == *p;
  return found != negated;
}

static const u8 *alternatives(const u8 *p, const u8 *close, const u8 *t, const struct rest *rest) {
  for (;;) {
    const u8 *end = match(p, t, rest);
    if (end) return end;
    while (p < close && *p != '|') p = atom_end(p);
    if (p >= close) return 0;
    p++;
  }
}

static const u8 *after(const u8 *t, const struct rest *rest) {
  if (!rest) return t;
  if (rest->group && t > rest->from) {
    struct rest loop = {rest->p, rest->group, t, rest->next};
    const u8 *found = alternatives(rest->group + 1, atom_end(rest->group) - 1, t, &loop);
    if (found) return found;
  }
  return match(rest->p, t, rest->next);
}

static const u8 *match(const u8 *p, const u8 *t, const struct rest *rest) {
  if (p == pattern_end || *p == '|' || *p == ')') return after(t, rest);
  const u8 *next = atom_end(p), *found;
  u8 times = next < pattern_end ? *next : 0;
  if (times != '*' && times != '+' && times != '?') times = 0;
  const u8 *then = times ? next + 1 : next;
  if (*p == '(') {
    struct rest then_rest = {then, times == '*' || times == '+' ? p : 0, t, rest};
    found = alternatives(p + 1, next - 1, t, &then_rest);
    return found || !times || times == '+' ? found : match(then, t, rest);
  }
  if (times == '*' || times == '+') {
    const u8 *last = t;
    while (last < text_end && one(p, *last)) last++;
    for (const u8 *least = t + (times == '+'); last >= least; last--)
      if ((found = match(then, last, rest))) return found;
    return 0;
  }
  if (t < text_end && one(p, *t) && (found = match(then, t + 1, rest))) return found;
  return times == '?' ? match(then, t, rest) : 0;
}

EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  u32 n = rounds(&data, &size);
  const u8 *line = data, *end = data + size;
  while (line < end && *line != '\n') line++;
  pattern_end = line;
  text_end = end;
  for (u32 i = 0; i < n; i++)
    for (const u8 *t = line; t < end; t++) {
      const u8 *found = alternatives(data, pattern_end, t, 0);
      if (found) mix((u64)(t - line) << 32 | (u64)(found - t));
    }
  return 0;
}
