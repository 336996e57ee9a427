// MuJS: evaluates a script in an engine with a memory limit.
#include "harness.h"
#include "mujs.h"
#include <stdlib.h>
#include <string.h>

static js_State *J;
static size_t blocks;

// MuJS has no step limit: an endless script is ended by the host's fuel, and natively by the time limit.
static void *allocate(void *user, void *p, int size) {
  (void)user;
  if (size == 0) return free(p), (void *)0;
  if (++blocks > 200000 || size > 4 << 20) return 0;
  return realloc(p, (size_t)size);
}

static void quiet(js_State *state, const char *message) { (void)state, (void)message; }

static void open_state(void) {
  blocks = 0;
  J = js_newstate(allocate, 0, JS_STRICT);
  if (J) js_setreport(J, quiet);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
#ifdef SANDGLASS
  open_state();
#endif
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
#ifndef SANDGLASS
  open_state();
#endif
  char *source = malloc(size + 1);
  if (!J || !source) return REJECT;
  memcpy(source, data, size);
  source[size] = 0;
  int failed = js_dostring(J, source);
  free(source);
#ifndef SANDGLASS
  js_freestate(J);
#endif
  return failed ? REJECT : ACCEPT;
}
