// The QuickJS of `quickjs-compile`, with its assertions on: what `quickjs-compile-old` is compared with.
#include "../quickjs-compile/harness.c"
