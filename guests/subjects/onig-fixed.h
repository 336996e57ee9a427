// Oniguruma with a fixed pattern, which is searched in each line, as Perun's case studies do it with std::regex. Fuel is
// the only limit of a match; lines that are no UTF-8 are passed over.
#include "harness.h"
#include "oniguruma.h"
#include <string.h>

static regex_t *regex;
static OnigRegion *region;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
  OnigErrorInfo info;
  const UChar *pattern = (const UChar *)PATTERN;
  onig_initialize(encodings, 1);
  onig_set_retry_limit_in_match(0);
  onig_set_retry_limit_in_search(0);
  onig_set_match_stack_limit_size(0);
  if (onig_new(&regex, pattern, pattern + strlen(PATTERN), ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_PERL_NG,
               &info) != ONIG_NORMAL)
    __builtin_trap();
  region = onig_region_new();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int found = 0;
  for (const uint8_t *end = data + size; data < end;) {
    const uint8_t *line = memchr(data, '\n', (size_t)(end - data)), *last = line ? line : end;
    if (onigenc_is_valid_mbc_string(ONIG_ENCODING_UTF8, data, last))
      found |= onig_search(regex, data, last, data, last, region, ONIG_OPTION_NONE) >= 0;
    data = last + 1;
  }
  return found ? ACCEPT : REJECT;
}
