// stb_image 2.06 (April 2015), for its memory errors: whatever breaks it and not `stb-image` has been fixed since.
#include "../stb-image/harness.c"
