// PCRE2: the first line is a pattern, the rest the subject; match and heap limits bound the work.
#include "harness.h"
#include "pcre2.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return REJECT;
  uint32_t options = (data[0] & 1 ? PCRE2_UTF : 0) | (data[0] & 2 ? PCRE2_CASELESS : 0) |
                     (data[0] & 4 ? PCRE2_EXTENDED : 0) | (data[0] & 8 ? PCRE2_MULTILINE : 0) | PCRE2_NEVER_BACKSLASH_C;
  data++, size--;
  const uint8_t *line = memchr(data, '\n', size);
  size_t length = line ? (size_t)(line - data) : size;
  const uint8_t *subject = line ? line + 1 : data;
  size_t subject_length = line ? size - length - 1 : size;
  int error;
  PCRE2_SIZE offset;
  pcre2_compile_context *compiling = pcre2_compile_context_create(0);
  pcre2_set_parens_nest_limit(compiling, 50);
  pcre2_set_max_pattern_compiled_length(compiling, 1 << 20);
  pcre2_code *code = pcre2_compile(data, length, options, &error, &offset, compiling);
  pcre2_compile_context_free(compiling);
  if (!code) return REJECT;
  pcre2_match_context *matching = pcre2_match_context_create(0);
  pcre2_match_data *result = pcre2_match_data_create_from_pattern(code, 0);
  pcre2_set_match_limit(matching, 2000);
  pcre2_set_depth_limit(matching, 500);
  pcre2_set_heap_limit(matching, 1024);
  pcre2_match(code, subject, subject_length, 0, 0, result, matching);
  pcre2_match_data_free(result);
  pcre2_match_context_free(matching);
  pcre2_code_free(code);
  return ACCEPT;
}
