// The quicksort of the BSDs (Bentley and McIlroy, "Engineering a sort function", 1993): the pivot is a median of three, or of
// three medians of three, what equals it goes to both ends and then to the middle, and fewer than seven bytes are sorted by
// insertion; so are parts in which nothing was swapped, a shortcut of the BSDs that costs n² where the guess is wrong. Bytes
// that are all the same take linear time. The smaller part is sorted first, so the stack stays small.
#include "cost.h"

static u8 a[INPUT_MAX];

static void swap(u32 i, u32 j) {
  u8 x = a[i];
  a[i] = a[j], a[j] = x;
}

static void swap_all(u32 i, u32 j, u32 count) {
  while (count--) swap(i++, j++);
}

static u32 median(u32 i, u32 j, u32 k) {
  return a[i] < a[j] ? a[j] < a[k] ? j : a[i] < a[k] ? k : i : a[j] > a[k] ? j : a[i] < a[k] ? i : k;
}

static void insertion(u32 from, u32 end) {
  for (u32 i = from + 1; i < end; i++)
    for (u32 j = i; j > from && a[j - 1] > a[j]; j--) swap(j - 1, j);
}

static u32 pivot(u32 from, u32 count) {
  u32 low = from, middle = from + count / 2, high = from + count - 1;
  if (count == 7) return middle;
  if (count > 40) {
    u32 d = count / 8;
    low = median(low, low + d, low + 2 * d);
    middle = median(middle - d, middle, middle + d);
    high = median(high - 2 * d, high - d, high);
  }
  return median(low, middle, high);
}

static u32 min(u32 x, u32 y) { return x < y ? x : y; }

static void quick(u32 from, u32 end) {
  while (end - from >= 7) {
    swap(from, pivot(from, end - from));
    u8 x = a[from];
    // [from, pa) and [pd, end) equal the pivot, [pa, pb) is smaller, [pc, pd) is larger.
    u32 pa = from + 1, pb = pa, pc = end, pd = end;
    int swapped = 0;
    for (;;) {
      for (; pb < pc && a[pb] <= x; pb++)
        if (a[pb] == x) swapped = 1, swap(pa++, pb);
      for (; pb < pc && a[pc - 1] >= x; pc--)
        if (a[pc - 1] == x) swapped = 1, swap(pc - 1, --pd);
      if (pb >= pc) break;
      swapped = 1, swap(pb++, --pc);
    }
    if (!swapped) break;
    u32 smaller = pb - pa, larger = pd - pc, same = min(pa - from, smaller);
    swap_all(from, pb - same, same);
    same = min(end - pd, larger);
    swap_all(pb, end - same, same);
    if (smaller < larger) quick(from, from + smaller), from = end - larger;
    else quick(end - larger, end), end = from + smaller;
  }
  insertion(from, end);
}

EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  if (size > INPUT_MAX) return -1;
  for (u32 i = 0; i < size; i++) a[i] = data[i];
  quick(0, size);
  return 0;
}
