// Names of Java classes: a pattern of OWASP's validation repository (Perun's third case study).
#define PATTERN "^(([a-z])+.)+[A-Z]([a-z])+$"
#include "libcxx-fixed.h"
