// The hash of a string in Java 1.0 and 1.1: of one with 16 characters or more, only every (length / 8)-th counts. Words that
// differ in the others collide.
static unsigned java(const unsigned char *word, unsigned length) {
  unsigned hash = 0, step = length / 8;
  if (length < 16)
    for (unsigned i = 0; i < length; i++) hash = hash * 37 + word[i];
  else
    for (unsigned i = 0; i < length; i += step) hash = hash * 39 + word[i];
  return hash;
}
