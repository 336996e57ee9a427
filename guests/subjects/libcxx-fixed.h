// std::regex of LLVM's libc++ with a fixed pattern, which is searched in each line, as Perun's case studies do it with that of
// GCC's. libc++ counts what a match costs and gives up (error_complexity) when that passes 4,096 for each byte; the script lifts
// that, so fuel is the only limit.
#include "harness.h"
#include <regex>
#include <string>

static std::regex *regex;

HARNESS int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  regex = new std::regex(PATTERN);
  return 0;
}

HARNESS int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *at = reinterpret_cast<const char *>(data), *end = at + size;
  bool found = false;
  while (at < end) {
    const char *line = at;
    while (line < end && *line != '\n') line++;
    found |= std::regex_search(at, line, *regex);
    at = line + 1;
  }
  return found ? ACCEPT : REJECT;
}
