// Makes libFuzzer run a fixed list of inputs, over and over, through its own loop: a custom mutator that throws away
// what it was given and answers with the next input of the list. Loaded with LD_PRELOAD, so that the fuzzer is the same
// file as in campaigns: instrumentation, clearing of counters, collection of features and Entropic's statistics
// included, and no file is read between two executions.
//
// REPLAY_LIST names the list: for each input its size (four bytes, little-endian) and its bytes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *list, *at, *end;

static void load(void) {
  const char *path = getenv("REPLAY_LIST");
  FILE *file = path ? fopen(path, "rb") : 0;
  if (!file || fseek(file, 0, SEEK_END)) {
    fprintf(stderr, "replay: REPLAY_LIST does not name a list of inputs\n");
    exit(2);
  }
  long size = ftell(file);
  rewind(file);
  list = malloc((size_t)size);
  if (size <= 4 || fread(list, 1, (size_t)size, file) != (size_t)size) {
    fprintf(stderr, "replay: %s cannot be read\n", path);
    exit(2);
  }
  fclose(file);
  at = list;
  end = list + size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  (void)size, (void)seed;
  if (!list) load();
  if (at == end) at = list;
  uint32_t bytes;
  memcpy(&bytes, at, 4);
  if (bytes > max_size) {
    fprintf(stderr, "replay: an input of %u bytes, longer than the maximum of %zu\n", bytes, max_size);
    exit(2);
  }
  memcpy(data, at + 4, bytes);
  at += 4 + bytes;
  return bytes;
}
