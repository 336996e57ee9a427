// Word frequencies with the hash function DJB (Perun's fourth case study).
#define HASH djb
#include "word-count.h"
