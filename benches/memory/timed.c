// Runs a libFuzzer target on one input, again for each byte of standard input, and answers with the CPU time of each run in
// nanoseconds, a line each. Coverage counters are cleared before each run and the input lies in a block of its own, as with
// libFuzzer. For benches/memory/cost.rs.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

#define PLAIN __attribute__((no_sanitize("coverage", "address")))

static struct { char *start, *end; } counters[64];
static unsigned modules;

PLAIN void __sanitizer_cov_8bit_counters_init(char *start, char *end) {
  if (modules < sizeof counters / sizeof *counters) counters[modules].start = start, counters[modules++].end = end;
}

PLAIN static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

PLAIN int main(int argc, char **argv) {
  static uint8_t input[1 << 20];
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : 0;
  if (!file) return fprintf(stderr, "timed: no input\n"), 2;
  size_t size = fread(input, 1, sizeof input, file);
  fclose(file);
  if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
  while (getchar() != EOF) {
    long long start = now();
    for (unsigned n = 0; n < modules; n++) memset(counters[n].start, 0, (size_t)(counters[n].end - counters[n].start));
    uint8_t *copy = malloc(size);
    memcpy(copy, input, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    printf("%lld\n", now() - start);
    fflush(stdout);
  }
  return 0;
}
