// SQLite: prepares and steps each statement on a database with a fixed schema and a few rows, made before the snapshot.
#include "harness.h"
#include "sandglass.h"
#include "../sqlite/vfs.h"
#include <stdlib.h>

static const char schema[] =
#include "schema.sql.h"
  ;

static sqlite3 *db;

static void open_database(void) {
  if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY, 0) != SQLITE_OK
      || sqlite3_exec(db, schema, 0, 0, 0) != SQLITE_OK)
    __builtin_trap(); // The schema is ours: without it there is nothing to measure.
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  sqlite3_initialize();
#ifdef SANDGLASS
  open_database();
#endif
  return 0;
}

static int is_syntax_error(void) {
  const char *message = sqlite3_errmsg(db);
  static const char *const signs[] = {"syntax error", "unrecognized token", "incomplete input"};
  for (int i = 0; i < 3; i++)
    if (strstr(message, signs[i])) return 1;
  return 0;
}

// Rows until the end, an error, or the budget's; a statement that only runs for long is fine.
static int step(sqlite3_stmt *statement) {
  int status = SQLITE_ROW;
  for (int rows = 0; status == SQLITE_ROW && rows < 1000; rows++) status = sqlite3_step(statement);
  sqlite3_finalize(statement);
  return status == SQLITE_ROW || status == SQLITE_DONE || status == SQLITE_INTERRUPT ? SQLITE_OK : status;
}

static int run(const char *sql) {
  while (*sql) {
    sqlite3_stmt *statement;
    int status = sqlite3_prepare_v2(db, sql, -1, &statement, &sql);
    if (status != SQLITE_OK) {
      if (!is_syntax_error()) sg_stage(1);
      return status;
    }
    sg_stage(2);
    if (statement && (status = step(statement)) != SQLITE_OK) return status;
  }
  return SQLITE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *sql = malloc(size + 1);
  if (!sql) return REJECT;
  memcpy(sql, data, size);
  sql[size] = 0;
#ifndef SANDGLASS
  open_database();
#endif
  limited(db);
  int status = run(sql);
#ifndef SANDGLASS
  sqlite3_close(db);
#endif
  free(sql);
  return status == SQLITE_OK ? ACCEPT : REJECT;
}
