// E-mail addresses: RegExLib's pattern 1757 (Perun's second case study).
#define PATTERN "^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$"
#include "libcxx-fixed.h"
