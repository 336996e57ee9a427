// cJSON: parses, prints in both ways, minifies a copy.
#include "harness.h"
#include "cJSON.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cJSON *json = cJSON_ParseWithLengthOpts((const char *)data, size, 0, 0);
  if (!json) return REJECT;
  char *text = cJSON_PrintUnformatted(json);
  if (text) cJSON_free(text);
  text = cJSON_Print(json);
  if (text) {
    cJSON_Minify(text);
    cJSON_free(text);
  }
  cJSON_Delete(json);
  return ACCEPT;
}
