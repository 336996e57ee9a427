// QuickJS of 2019-07-21, for its bugs: whatever breaks it and not `quickjs-compile-checked` has been fixed since.
#include "quickjs.h"
// The depth of calls is limited by the host: this version does not check its stack in wasm.
#define JS_SetMaxStackSize(runtime, bytes) ((void)0)
#include "../quickjs-compile/harness.c"
