// The quicksort of textbooks (Lomuto's partition, the last byte is the pivot). At its worst, on bytes that are sorted or all
// the same, it makes n (n - 1) / 2 comparisons. The smaller part is sorted first, so the stack stays small.
#include "cost.h"

static u8 a[INPUT_MAX];

static void quick(u32 from, u32 end) {
  while (end - from > 1) {
    u8 pivot = a[end - 1];
    u32 middle = from;
    for (u32 i = from; i < end - 1; i++) {
      if (a[i] > pivot) continue;
      u8 x = a[i];
      a[i] = a[middle], a[middle++] = x;
    }
    a[end - 1] = a[middle], a[middle] = pivot;
    if (middle - from < end - middle - 1) quick(from, middle), from = middle + 1;
    else quick(middle + 1, end), end = middle;
  }
}

EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  if (size > INPUT_MAX) return -1;
  for (u32 i = 0; i < size; i++) a[i] = data[i];
  quick(0, size);
  return 0;
}
