// PCRE2's interpreter with a fixed pattern, which is searched in each line, as Perun's case studies do it with std::regex.
// Fuel is the only limit of a match, and nothing is known of a line before it is tried: with the optimisations of the
// start, a line without the pattern's literals would cost nothing.
#include "harness.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pcre2.h"
#include <string.h>

static pcre2_code *code;
static pcre2_match_data *result;
static pcre2_match_context *limits;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  int error;
  PCRE2_SIZE offset;
  uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NO_START_OPTIMIZE;
  code = pcre2_compile((PCRE2_SPTR)PATTERN, PCRE2_ZERO_TERMINATED, options, &error, &offset, 0);
  if (!code) __builtin_trap();
  result = pcre2_match_data_create_from_pattern(code, 0);
  limits = pcre2_match_context_create(0);
  pcre2_set_match_limit(limits, UINT32_MAX);
  pcre2_set_depth_limit(limits, UINT32_MAX);
  pcre2_set_heap_limit(limits, UINT32_MAX);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int found = 0;
  for (const uint8_t *end = data + size; data < end;) {
    const uint8_t *line = memchr(data, '\n', (size_t)(end - data));
    size_t length = (size_t)((line ? line : end) - data);
    found |= pcre2_match(code, data, length, 0, 0, result, limits) > 0;
    data += length + 1;
  }
  return found ? ACCEPT : REJECT;
}
