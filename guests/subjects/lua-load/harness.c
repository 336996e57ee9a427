// Lua: compiles a chunk and does not run it.
#include "harness.h"
#include "lauxlib.h"
#include "lua.h"

static lua_State *L;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
#ifdef SANDGLASS
  L = luaL_newstate();
#endif
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
#ifndef SANDGLASS
  L = luaL_newstate();
#endif
  if (!L) return REJECT;
  int status = luaL_loadbufferx(L, (const char *)data, size, "=input", "t");
#ifndef SANDGLASS
  lua_close(L);
#endif
  return status == LUA_OK ? ACCEPT : REJECT;
}
