// Lua: compiles and runs a script with the libraries that have no side effects, within budgets of steps and memory.
#include "harness.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include <stdlib.h>

static size_t used;
static lua_State *L;

static void *allocate(void *user, void *p, size_t old, size_t size) {
  (void)user;
  if (!p) old = 0;
  if (size == 0) return used -= old, free(p), (void *)0;
  if (size > old && used + (size - old) > 8 << 20) return 0;
  void *q = realloc(p, size);
  if (q) used = used - old + size;
  return q;
}

static void stop(lua_State *l, lua_Debug *d) { (void)d, luaL_error(l, "out of steps"); }

static int open_state(void) {
  used = 0;
  L = lua_newstate(allocate, 0);
  if (!L) return 0;
  luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
  luaL_requiref(L, LUA_COLIBNAME, luaopen_coroutine, 1);
  luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
  luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
  luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
  luaL_requiref(L, LUA_UTF8LIBNAME, luaopen_utf8, 1);
  lua_settop(L, 0);
  // What would print, read files or load binary chunks is taken away.
  static const char *const gone[] = {"print", "dofile", "loadfile", "warn", "collectgarbage", 0};
  for (int i = 0; gone[i]; i++) lua_pushnil(L), lua_setglobal(L, gone[i]);
  lua_sethook(L, stop, LUA_MASKCOUNT, 100000);
  return 1;
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
  if (!open_state()) return REJECT;
#endif
  int status = luaL_loadbufferx(L, (const char *)data, size, "=input", "t");
  if (status == LUA_OK) status = lua_pcall(L, 0, 0, 0);
#ifndef SANDGLASS
  lua_close(L);
#endif
  return status == LUA_OK ? ACCEPT : REJECT;
}
