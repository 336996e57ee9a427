// Sorts random numbers: quicksort with insertion sort below 16 elements, then heapsort of the same numbers.
#include "bench.h"

#define COUNT 20000
static u32 numbers[COUNT], copy[COUNT];

static void insertion(u32 *a, int n) {
  for (int i = 1; i < n; i++) {
    u32 x = a[i];
    int j = i - 1;
    for (; j >= 0 && a[j] > x; j--) a[j + 1] = a[j];
    a[j + 1] = x;
  }
}

static void quick(u32 *a, int n) {
  while (n > 16) {
    u32 low = a[0], mid = a[n / 2], high = a[n - 1];
    u32 pivot = low < mid ? (mid < high ? mid : (low < high ? high : low)) : (low < high ? low : (mid < high ? high : mid));
    int i = 0, j = n - 1;
    while (i <= j) {
      while (a[i] < pivot) i++;
      while (a[j] > pivot) j--;
      if (i <= j) {
        u32 t = a[i];
        a[i++] = a[j], a[j--] = t;
      }
    }
    quick(a, j + 1);
    a += i, n -= i;
  }
  insertion(a, n);
}

static void sift(u32 *a, int root, int n) {
  for (int child; (child = 2 * root + 1) < n; root = child) {
    if (child + 1 < n && a[child] < a[child + 1]) child++;
    if (a[root] >= a[child]) return;
    u32 t = a[root];
    a[root] = a[child], a[child] = t;
  }
}

static void heap(u32 *a, int n) {
  for (int i = n / 2; i-- > 0;) sift(a, i, n);
  for (int i = n; i-- > 1;) {
    u32 t = a[0];
    a[0] = a[i], a[i] = t;
    sift(a, 0, i);
  }
}

EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  u32 n = rounds(&data, &size), x = 2463534242u;
  for (u32 i = 0; i < n; i++) {
    for (u32 k = 0; k < COUNT; k++) {
      x ^= x << 13, x ^= x >> 17, x ^= x << 5;
      numbers[k] = copy[k] = x;
    }
    quick(numbers, COUNT);
    heap(copy, COUNT);
    for (u32 k = 0; k < COUNT; k += 97) {
      if (numbers[k] != copy[k]) return -1;
      mix(numbers[k]);
    }
  }
  return 0;
}
