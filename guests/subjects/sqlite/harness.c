// SQLite: executes the input as SQL on an empty database in memory.
#include "harness.h"
#include "vfs.h"
#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  sqlite3_initialize();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  sqlite3 *db;
  int rows = 0, status = SQLITE_NOMEM;
  char *sql = malloc(size + 1);
  if (!sql) return REJECT;
  memcpy(sql, data, size);
  sql[size] = 0;
  if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY, 0) == SQLITE_OK) {
    limited(db);
    status = sqlite3_exec(db, sql, each_row, &rows, 0);
  }
  sqlite3_close(db);
  free(sql);
  return status == SQLITE_OK || status == SQLITE_ABORT ? ACCEPT : REJECT;
}
