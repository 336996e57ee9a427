// Insertion sort of the input's bytes. At its worst it makes n (n - 1) / 2 moves: 2,016 of 64 bytes in descending order.
#include "cost.h"

static u8 a[INPUT_MAX];

EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  if (size > INPUT_MAX) return -1;
  for (u32 i = 0; i < size; i++) {
    u8 x = data[i];
    u32 j = i;
    for (; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
    a[j] = x;
  }
  return 0;
}
