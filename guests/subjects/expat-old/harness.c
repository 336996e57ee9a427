// Expat 2.1.0 (March 2012), for its memory errors: whatever breaks it and not `expat` has been fixed since.
#include "../expat/harness.c"
