// Trimming white space: the pattern behind an outage of Stack Overflow in July 2016 (Perun's first case study).
#define PATTERN "^\\s+|\\s+$"
#include "libcxx-fixed.h"
