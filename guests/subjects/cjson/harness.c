// cJSON: parses, prints in both ways, minifies what was printed.
//
// The text gets a final NUL, which the length does not count: cJSON 1.7.15 reads one byte too far at the end of some
// inputs (CVE-2023-53154), and a native build with ASan would never get beyond that.
#include "harness.h"
#include "cJSON.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return REJECT;
  memcpy(text, data, size);
  text[size] = 0;
  cJSON *json = cJSON_ParseWithLengthOpts(text, size, 0, 0);
  free(text);
  if (!json) return REJECT;
  text = cJSON_PrintUnformatted(json);
  if (text) cJSON_free(text);
  text = cJSON_Print(json);
  if (text) {
    cJSON_Minify(text);
    cJSON_free(text);
  }
  cJSON_Delete(json);
  return ACCEPT;
}
