// The Lua of `lua-load`, with its assertions on: what `lua-load-old` is compared with.
#include "../lua-load/harness.c"
