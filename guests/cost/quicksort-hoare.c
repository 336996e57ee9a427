// Hoare's quicksort (1961): the first byte is the pivot, and two indices walk towards each other. At its worst, on bytes
// that ascend or descend, it makes about n²/2 comparisons; bytes that are all the same are halved, where Lomuto's partition
// (quicksort.c) is at its worst. The smaller part is sorted first, so the stack stays small.
#include "cost.h"

static u8 a[INPUT_MAX];

// Places of the parts, which include both ends.
static void quick(u32 first, u32 last) {
  while (first < last) {
    u8 pivot = a[first];
    u32 low = first - 1, high = last + 1;
    for (;;) {
      do low++; while (a[low] < pivot);
      do high--; while (a[high] > pivot);
      if (low >= high) break;
      u8 x = a[low];
      a[low] = a[high], a[high] = x;
    }
    if (high - first < last - high - 1) quick(first, high), first = high + 1;
    else quick(high + 1, last), last = high;
  }
}

EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  if (size > INPUT_MAX) return -1;
  for (u32 i = 0; i < size; i++) a[i] = data[i];
  if (size) quick(0, size - 1);
  return 0;
}
