// A table of the input's words, chained, by the hash function of Java 1.1. A word ends at a blank, and every byte of the
// input begins one: `abc d` has the words `abc`, `bc`, `c` and `d`, as an index of what can be searched has them.
#include "cost.h"
#include "../java-hash.h"

enum { BUCKETS = 1021 };

static struct word {
  const u8 *text;
  u32 length, next;
} words[INPUT_MAX + 1];
static u32 buckets[BUCKETS];

static int same(const struct word *a, const u8 *text, u32 length) {
  if (a->length != length) return 0;
  for (u32 i = 0; i < length; i++)
    if (a->text[i] != text[i]) return 0;
  return 1;
}

EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  if (size > INPUT_MAX) return -1;
  u32 used = 0, end = 0;
  for (u32 at = 0; at < size; at++) {
    if (data[at] == ' ') continue;
    if (end <= at)
      for (end = at; end < size && data[end] != ' ';) end++;
    u32 length = end - at, *chain = &buckets[java(data + at, length) % BUCKETS], word = *chain;
    while (word && !same(&words[word], data + at, length)) word = words[word].next;
    if (word) continue;
    words[++used] = (struct word){data + at, length, *chain};
    *chain = used;
  }
  return 0;
}
