// Oniguruma: the first line is a pattern (UTF-8), the rest the subject.
#include "harness.h"
#include "oniguruma.h"
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
  onig_initialize(encodings, 1);
  onig_set_retry_limit_in_match(5000);
  onig_set_retry_limit_in_search(20000);
  onig_set_match_stack_limit_size(10000);
  onig_set_parse_depth_limit(100);
  onig_set_subexp_call_max_nest_level(8);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return REJECT;
  OnigOptionType options = data[0] & 1 ? ONIG_OPTION_IGNORECASE : ONIG_OPTION_NONE;
  if (data[0] & 2) options |= ONIG_OPTION_EXTEND;
  data++, size--;
  const uint8_t *line = memchr(data, '\n', size);
  const uint8_t *end = line ? line : data + size, *subject = line ? line + 1 : data, *last = data + size;
  if (!onigenc_is_valid_mbc_string(ONIG_ENCODING_UTF8, data, end)) return REJECT;
  if (!onigenc_is_valid_mbc_string(ONIG_ENCODING_UTF8, subject, last)) return REJECT;
  regex_t *regex;
  OnigErrorInfo info;
  if (onig_new(&regex, data, end, options, ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &info) != ONIG_NORMAL) return REJECT;
  OnigRegion *region = onig_region_new();
  onig_search(regex, subject, last, subject, last, region, ONIG_OPTION_NONE);
  onig_region_free(region, 1);
  onig_free(regex);
  return ACCEPT;
}
