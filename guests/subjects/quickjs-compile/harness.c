// QuickJS: compiles a script, down to byte code, and does not run it.
#include "harness.h"
#include "quickjs.h"
#include <stdlib.h>
#include <string.h>

static JSRuntime *runtime;
static JSContext *context;

static void open_runtime(void) {
  runtime = JS_NewRuntime();
  JS_SetMemoryLimit(runtime, 16 << 20);
  JS_SetMaxStackSize(runtime, 128 << 10);
  context = JS_NewContext(runtime);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
#ifdef SANDGLASS
  open_runtime();
#endif
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
#ifndef SANDGLASS
  open_runtime();
#endif
  char *source = malloc(size + 1);
  if (!source) return REJECT;
  memcpy(source, data, size);
  source[size] = 0;
  JSValue code = JS_Eval(context, source, size, "input.js", JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
  int failed = JS_IsException(code);
  JS_FreeValue(context, code);
  if (failed) JS_FreeValue(context, JS_GetException(context));
  free(source);
#ifndef SANDGLASS
  JS_FreeContext(context);
  JS_FreeRuntime(runtime);
#endif
  return failed ? REJECT : ACCEPT;
}
