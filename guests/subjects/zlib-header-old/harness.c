// zlib 1.2.11 (January 2017), for its memory errors: whatever breaks it and not `zlib-header` has been fixed since.
#include "../zlib-header/harness.c"
