// Word frequencies with the hash function of Java 1.1 (Perun's fourth case study).
#define HASH java
#include "word-count.h"
