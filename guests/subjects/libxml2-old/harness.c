// libxml2 2.9.0 (September 2012) with fixes up to 2.9.2, for its memory errors: whatever breaks it and not `libxml2` has been fixed since.
#include "../libxml2/harness.c"
