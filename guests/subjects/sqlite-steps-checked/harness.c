// The SQLite of `sqlite-steps`, with its assertions on: what `sqlite-steps-old` is compared with.
#include "../sqlite-steps/harness.c"
