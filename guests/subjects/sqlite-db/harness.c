// SQLite: takes the input as a database file, checks it and reads every table.
#include "harness.h"
#include "../sqlite/vfs.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  sqlite3_initialize();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  sqlite3 *db;
  int rows = 0, status = SQLITE_NOMEM;
  if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, 0) == SQLITE_OK) {
    limited(db);
    unsigned char *image = sqlite3_malloc64(size + 1);
    if (image) {
      memcpy(image, data, size);
      status = sqlite3_deserialize(db, "main", image, (sqlite3_int64)size, (sqlite3_int64)size,
                                   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
    }
    if (status == SQLITE_OK) status = sqlite3_exec(db, "pragma quick_check; select * from sqlite_schema", each_row, &rows, 0);
    if (status == SQLITE_OK) status = sqlite3_exec(db, "select a, count(*), max(b) from t group by a order by 2", each_row, &rows, 0);
  }
  sqlite3_close(db);
  return status == SQLITE_OK ? ACCEPT : REJECT;
}
