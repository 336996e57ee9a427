// The words `open`, `seek` and `burn`, in this order, separated by spaces.
#include "planted.h"

static const char *const WORDS[] = {"open", "seek", "read", "write", "close", "burn"};

__attribute__((noinline)) int strcmp(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return (u8)*a - (u8)*b;
}

TARGET(const u8 *p, u32 n) {
  u32 i = 0, done = 0, words = 0;
  while (i < n) {
    char word[8];
    u32 k = 0;
    while (i < n && p[i] != ' ' && k < sizeof word - 1) word[k++] = (char)p[i++];
    word[k] = 0;
    if (i < n && p[i] != ' ') return INVALID;
    i++;
    int id = -1;
    for (u32 w = 0; w < sizeof WORDS / sizeof *WORDS; w++)
      if (strcmp(word, WORDS[w]) == 0) id = (int)w;
    if (id < 0) return words ? VALID : INVALID;
    words++;
    if (id == 0 && done == 0) done = 1;
    else if (id == 1 && done == 1) done = 2;
    else if (id == 5 && done == 2) FAULT();
  }
  return VALID;
}
