// QuickJS: evaluates a script, then the jobs that it left, within budgets of steps and memory.
#include "harness.h"
#include "quickjs.h"
#include <stdlib.h>
#include <string.h>

static JSRuntime *runtime;
static JSContext *context;
static int budget;

static int interrupted(JSRuntime *rt, void *user) { return (void)rt, (void)user, --budget < 0; }

static void open_runtime(void) {
  runtime = JS_NewRuntime();
  JS_SetMemoryLimit(runtime, 16 << 20);
  JS_SetMaxStackSize(runtime, 128 << 10);
  JS_SetInterruptHandler(runtime, interrupted, 0);
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
  budget = 20;
  JSValue value = JS_Eval(context, source, size, "input.js", JS_EVAL_TYPE_GLOBAL);
  int failed = JS_IsException(value);
  JS_FreeValue(context, value);
  if (failed) JS_FreeValue(context, JS_GetException(context));
  JSContext *last;
  for (int i = 0; i < 100 && JS_ExecutePendingJob(runtime, &last) > 0; i++) {}
  free(source);
#ifndef SANDGLASS
  JS_FreeContext(context);
  JS_FreeRuntime(runtime);
#endif
  return failed ? REJECT : ACCEPT;
}
