// SQLite 3.31.0 (January 2020), for its bugs: whatever breaks it and not `sqlite-steps-checked` has been fixed since.
#include "../sqlite-steps/harness.c"
