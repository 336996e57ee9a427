#include "mean.h"

#include <string.h>

/* A constructor, as C libraries have them for their tables: it runs before anything else, or nothing here works. */
static const char *prefix;
__attribute__((constructor)) static void start(void) { prefix = "mean:"; }

int mean(const uint8_t *text, size_t size) {
  if (prefix == NULL) return -1;
  if (size < 5 || memcmp(text, prefix, 5) != 0) return -1;
  int sum = 0, count = 0;
  for (size_t i = 5; i < size; i++) {
    if (text[i] < '0' || text[i] > '9') continue;
    sum += text[i] - '0';
    count++;
  }
  return sum / count; /* the planted fault: there may be no digits */
}
