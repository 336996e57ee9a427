// Lua 5.4.0 (June 2020), for its bugs: whatever breaks it and not `lua-load-checked` has been fixed since.
#include "../lua-load/harness.c"
