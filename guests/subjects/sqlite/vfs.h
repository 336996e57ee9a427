// A VFS without files, clock or randomness: SQLite runs in memory only.
#include "sqlite3.h"
#include <string.h>

static int no_open(sqlite3_vfs *v, const char *n, sqlite3_file *f, int flags, int *out) {
  (void)v, (void)n, (void)flags, (void)out;
  f->pMethods = 0;
  return SQLITE_CANTOPEN;
}
static int no_delete(sqlite3_vfs *v, const char *n, int sync) { return (void)v, (void)n, (void)sync, SQLITE_OK; }
static int no_access(sqlite3_vfs *v, const char *n, int flags, int *out) {
  return (void)v, (void)n, (void)flags, *out = 0, SQLITE_OK;
}
static int no_path(sqlite3_vfs *v, const char *n, int size, char *out) {
  return (void)v, sqlite3_snprintf(size, out, "%s", n), SQLITE_OK;
}
static int no_random(sqlite3_vfs *v, int n, char *out) { return (void)v, memset(out, 0x5a, (size_t)n), n; }
static int no_sleep(sqlite3_vfs *v, int us) { return (void)v, us; }
static int no_time(sqlite3_vfs *v, double *out) { return (void)v, *out = 2460000.5, SQLITE_OK; }
static int no_time64(sqlite3_vfs *v, sqlite3_int64 *out) { return (void)v, *out = 212544043200000LL, SQLITE_OK; }
static int no_error(sqlite3_vfs *v, int n, char *out) { return (void)v, (void)n, (void)out, 0; }

int sqlite3_os_init(void) {
  static sqlite3_vfs vfs;
  vfs.iVersion = 2;
  vfs.szOsFile = sizeof(sqlite3_file);
  vfs.mxPathname = 64;
  vfs.zName = "none";
  vfs.xOpen = no_open;
  vfs.xDelete = no_delete;
  vfs.xAccess = no_access;
  vfs.xFullPathname = no_path;
  vfs.xRandomness = no_random;
  vfs.xSleep = no_sleep;
  vfs.xCurrentTime = no_time;
  vfs.xCurrentTimeInt64 = no_time64;
  vfs.xGetLastError = no_error;
  return sqlite3_vfs_register(&vfs, 1);
}
int sqlite3_os_end(void) { return SQLITE_OK; }

// Ends statements that run for too long: a budget of callbacks, not of time.
static int budget;
static int progress(void *user) { return (void)user, --budget < 0; }

static int each_row(void *user, int count, char **values, char **names) {
  (void)count, (void)values, (void)names;
  return ++*(int *)user > 1000;
}

static int limited(sqlite3 *db) {
  budget = 100;
  sqlite3_progress_handler(db, 1000, progress, 0);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 50000);
  sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 200);
  sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 25000);
  return 0;
}
