// Trimming white space: the pattern behind an outage of Stack Overflow in July 2016 (Perun's first case study).
#define PATTERN "^[\\s\\x{200c}]+|[\\s\\x{200c}]+$"
#include "onig-fixed.h"
