// Counts words in a hash table of 12,289 chains, as the program of Perun's case study: words are cut at 127 bytes.
// HASH(word, length) is the function that is compared.
#include "harness.h"
#include "../java-hash.h"
#include <string.h>

enum { BUCKETS = 12289, WORD_MAX = 127, WORDS_MAX = 1 << 19 };

struct word {
  struct word *next;
  const uint8_t *text;
  uint32_t length, count;
};

static struct word words[WORDS_MAX];
static struct word *buckets[BUCKETS];
static volatile uint32_t most;

// Daniel J. Bernstein's.
static uint32_t djb(const uint8_t *word, uint32_t length) {
  uint32_t hash = 5381;
  for (uint32_t i = 0; i < length; i++) hash = hash * 33 + word[i];
  return hash;
}

static int is_space(uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint32_t used = 0, top = 0;
  for (size_t at = 0; at < size;) {
    while (at < size && is_space(data[at])) at++;
    const uint8_t *text = data + at;
    while (at < size && !is_space(data[at])) at++;
    uint32_t length = (uint32_t)(data + at - text);
    if (!length) break;
    if (length > WORD_MAX) length = WORD_MAX;
    struct word **chain = &buckets[HASH(text, length) % BUCKETS], *word = *chain;
    while (word && (word->length != length || memcmp(word->text, text, length))) word = word->next;
    if (!word) {
      if (used == WORDS_MAX) return REJECT;
      word = &words[used++];
      *word = (struct word){*chain, text, length, 0};
      *chain = word;
    }
    if (++word->count > top) top = word->count;
  }
  most = top;
#ifndef SANDGLASS
  memset(buckets, 0, sizeof buckets);
#endif
  return used ? ACCEPT : REJECT;
}
