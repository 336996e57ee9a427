// A property of a sort that forgets the last element: the smallest failure is two numbers, the second smaller. The
// file is C and C++.
#include "../sandglass.h"

static void sort(int64_t *list, size_t count) {
  for (size_t i = 1; i + 1 < count; i++) // The planted bug: up to count - 1.
    for (size_t j = i; j > 0 && list[j - 1] > list[j]; j--) {
      int64_t swap = list[j];
      list[j] = list[j - 1];
      list[j - 1] = swap;
    }
}

SG_PROPERTY {
  int64_t list[16];
  size_t count = (size_t)sg_int(SG_STRUCTURE, 0, 16);
  sg_assume(count > 1);
  for (size_t i = 0; i < count; i++) {
    SG_SPAN("item");
    list[i] = sg_int(SG_VALUE, -100, 100);
  }
  sort(list, count);
  for (size_t i = 1; i < count; i++)
    SG_CHECK(list[i - 1] <= list[i]);
  return SG_VALID;
}
