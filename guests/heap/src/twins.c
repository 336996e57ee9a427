// Small programs with a memory error each, and their good twins.
//
// The first byte of the input is the number of a case, the second whether it is the bad one (`b`). A comment above a case
// says what a sanitised run must call it, or that it is none of what is looked for (`unclaimed`), and of which kind of
// weakness (CWE) it is; `-O2` says that it is seen in optimised code only. The comment BAD marks its line.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CASE static __attribute__((noinline)) void

// Keeps the compiler from knowing what a pointer is.
static void *volatile hidden;
static void *hide(void *p) { hidden = p; return hidden; }
static volatile int sink;

struct node { int value; struct node *next; };

// case: heap-overflow CWE-122
CASE write_at_end(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(16));
  p[bad ? 16 : 15] = 1; // BAD
  free(hide(p));
}

// case: heap-overflow CWE-126
CASE read_at_end(int bad, const uint8_t *data, size_t size) {
  int *p = hide(calloc(4, sizeof(int)));
  sink = p[bad ? 4 : 3]; // BAD
  free(p);
}

// case: heap-overflow CWE-124
CASE write_before_start(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(16));
  p[bad ? -1 : 0] = 1; // BAD
  free(hide(p));
}

// case: heap-overflow CWE-127
CASE read_before_start(int bad, const uint8_t *data, size_t size) {
  int *p = hide(calloc(4, sizeof(int)));
  sink = p[bad ? -2 : 0]; // BAD
  free(p);
}

// case: heap-overflow CWE-122
CASE odd_size(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(13));
  p[bad ? 13 : 12] = 1; // BAD
  free(hide(p));
}

// case: heap-overflow CWE-126
CASE wide_read_over_odd_end(int bad, const uint8_t *data, size_t size) {
  char *p = hide(calloc(1, 14));
  sink = *(int *)(p + (bad ? 12 : 8)); // BAD
  free(p);
}

// case: heap-overflow CWE-122
CASE loop_one_too_far(int bad, const uint8_t *data, size_t size) {
  int n = bad ? 11 : 10;
  int *p = hide(malloc(10 * sizeof(int)));
  for (int i = 0; i < n; i++)
    p[i] = i * i; // BAD
  sink = p[3];
  free(hide(p));
}

// case: heap-overflow CWE-122
CASE copy_of_text(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(8));
  strcpy(p, bad ? "12345678" : "1234567"); // BAD
  sink = p[0];
  free(p);
}

// case: heap-overflow CWE-122
CASE copy_of_bytes(int bad, const uint8_t *data, size_t size) {
  char *from = hide(calloc(64, 1));
  char *to = hide(malloc(32));
  memcpy(to, from, sink * 0 + (bad ? 33 : 32)); // BAD
  sink = to[0];
  free(to);
  free(from);
}

// case: heap-overflow CWE-126
CASE copy_from_too_little(int bad, const uint8_t *data, size_t size) {
  char *from = hide(calloc(31, 1));
  char *to = hide(malloc(64));
  memmove(to, from, sink * 0 + (bad ? 32 : 31)); // BAD
  sink = to[0];
  free(to);
  free(from);
}

// case: heap-overflow CWE-122
CASE fill(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(100));
  memset(p, 7, sink * 0 + (bad ? 101 : 100)); // BAD
  sink = p[5];
  free(p);
}

// case: heap-overflow CWE-126
CASE length_without_end(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(8));
  memset(p, 'x', 8);
  if (!bad) p[7] = 0;
  sink = (int)strlen(p); // BAD
  free(p);
}

// case: heap-overflow CWE-122
CASE after_realloc(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(64));
  p[0] = 3;
  p = hide(realloc(p, bad ? 24 : 128));
  p[40] = 1; // BAD
  free(hide(p));
}

// case: heap-overflow CWE-122
CASE empty_block(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(bad ? 0 : 1));
  p[0] = 1; // BAD
  free(hide(p));
}

// case: heap-overflow CWE-126
CASE flexible_list(int bad, const uint8_t *data, size_t size) {
  struct { int count; int items[]; } *list = hide(calloc(1, sizeof(int) * 5));
  list->count = bad ? 5 : 4;
  int sum = 0;
  for (int i = 0; i < list->count; i++)
    sum += list->items[i]; // BAD
  sink = sum;
  free(list);
}

// case: use-after-free CWE-416
CASE read_after_free(int bad, const uint8_t *data, size_t size) {
  int *p = hide(calloc(4, sizeof(int)));
  if (bad) free(p);
  sink = p[2]; // BAD
  if (!bad) free(p);
}

// case: use-after-free CWE-416
CASE write_after_free(int bad, const uint8_t *data, size_t size) {
  int *p = hide(calloc(4, sizeof(int)));
  if (bad) free(p);
  p[1] = 4; // BAD
  if (!bad) free(p);
}

// case: use-after-free CWE-416
CASE old_pointer_after_realloc(int bad, const uint8_t *data, size_t size) {
  char *old = hide(calloc(16, 1));
  char *now = hide(realloc(old, 4096));
  sink = (bad ? old : now)[3]; // BAD
  free(now);
}

// case: use-after-free CWE-416
CASE list_freed_while_walked(int bad, const uint8_t *data, size_t size) {
  struct node *head = 0;
  for (int i = 0; i < 4; i++) {
    struct node *node = hide(malloc(sizeof *node));
    node->value = i, node->next = head, head = node;
  }
  for (struct node *node = head; node;) {
    struct node *next = bad ? 0 : node->next;
    free(node);
    node = bad ? ((struct node *)hide(node))->next : next; // BAD
  }
}

// case: double-free CWE-415
CASE freed_twice(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(24));
  free(p);
  if (bad)
    free(hide(p)); // BAD
}

// case: double-free CWE-415
CASE freed_twice_with_others_between(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(24)), *q = hide(malloc(24));
  free(p);
  free(q);
  char *r = hide(malloc(24));
  free(bad ? hide(p) : r); // BAD
}

// case: invalid-free CWE-761
CASE free_of_the_middle(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(24));
  free(bad ? p + 8 : p); // BAD
}

// case: invalid-free CWE-590
CASE free_of_a_global(int bad, const uint8_t *data, size_t size) {
  static char global[32] = "a global with something in it";
  char *p = hide(malloc(24));
  free(bad ? hide(global) : p); // BAD
}

// case: invalid-free CWE-590
CASE free_of_the_stack(int bad, const uint8_t *data, size_t size) {
  char local[32];
  local[0] = 1;
  char *p = hide(malloc(24));
  free(bad ? hide(local) : p); // BAD
}

// case: null-access CWE-476
CASE read_of_null(int bad, const uint8_t *data, size_t size) {
  struct node node = {1, 0};
  struct node *p = bad ? hide(0) : hide(&node);
  sink = p->value; // BAD
}

// case: null-access CWE-476
CASE write_to_null(int bad, const uint8_t *data, size_t size) {
  struct node node = {1, 0};
  struct node *p = bad ? hide(0) : hide(&node);
  p->next = 0; // BAD
}

// case: constant-write CWE-123
CASE write_to_constant(int bad, const uint8_t *data, size_t size) {
  static const char constant[32] = "a constant, longer than one word";
  static char variable[32] = "a variable, longer than one word";
  char *p = hide(bad ? (void *)constant : (void *)variable);
  p[9] = 'x'; // BAD
}

// case: input-overflow CWE-126
CASE read_past_the_input(int bad, const uint8_t *data, size_t size) {
  const uint8_t *p = hide((void *)data);
  sink = p[bad ? size : size - 1]; // BAD
}

// case: heap-overflow CWE-122
CASE aligned_block(int bad, const uint8_t *data, size_t size) {
  char *p = hide(aligned_alloc(64, 128));
  if ((uintptr_t)p % 64) __builtin_trap();
  p[bad ? 128 : 127] = 1; // BAD
  free(hide(p));
}

// case: use-after-free CWE-416
CASE text_after_free(int bad, const uint8_t *data, size_t size) {
  char *p = hide(strdup("some text"));
  if (bad) free(p);
  sink = strcmp(p, "some text"); // BAD
  if (!bad) free(p);
}

// case: use-after-free CWE-416
CASE many_blocks_later(int bad, const uint8_t *data, size_t size) {
  char *p = hide(calloc(100, 1));
  if (bad) free(p);
  for (int i = 0; i < 50; i++) free(hide(malloc(1000)));
  sink = p[99]; // BAD
  if (!bad) free(p);
}

// case: double-free CWE-415
CASE realloc_of_a_freed_block(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(24));
  if (bad) free(p);
  p = hide(realloc(hide(p), 48)); // BAD
  free(p);
}

// case: heap-overflow CWE-124
CASE fill_before_start(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(32));
  size_t all = (size_t)hide((void *)32);
  memset(bad ? p - 4 : p, 7, all); // BAD
  sink = p[3];
  free(p);
}

// case: heap-overflow CWE-127
CASE copy_from_before_start(int bad, const uint8_t *data, size_t size) {
  char *from = hide(calloc(32, 1));
  char *to = hide(malloc(32));
  size_t all = (size_t)hide((void *)32);
  memcpy(to, bad ? from - 1 : from, all); // BAD
  sink = to[0];
  free(to);
  free(from);
}

// case: invalid-free CWE-761
CASE realloc_of_the_middle(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(64));
  p = hide(realloc(bad ? p + 16 : p, 128)); // BAD
  free(p);
}

// case: null-access CWE-476
CASE copy_to_null(int bad, const uint8_t *data, size_t size) {
  char there[16];
  char *p = hide(bad ? 0 : there);
  memcpy(p, data, sink * 0 + 2); // BAD
  sink = there[1];
}

static __attribute__((noinline)) void write_to(char *p) { *(volatile char *)p = 1; }

// case: stack-overflow CWE-121
CASE more_than_the_stack(int bad, const uint8_t *data, size_t size) {
  size_t all = (size_t)hide((void *)(bad ? 100000 : 100));
  char array[all]; // BAD
  write_to(array);
}

// case: frame-overflow CWE-121
CASE loop_over_the_frame(int bad, const uint8_t *data, size_t size) {
  char local[16];
  write_to(local);
  char *p = hide(local);
  int n = bad ? 200 : 16;
  for (int i = 0; i < n; i++)
    p[i] = 1; // BAD
  sink = local[3];
}

// case: frame-overflow CWE-121
CASE fill_over_the_frame(int bad, const uint8_t *data, size_t size) {
  char local[16];
  char *p = hide(local);
  memset(p, 7, sink * 0 + (bad ? 200 : 16)); // BAD
  sink = local[3];
}

// case: frame-overflow -O2 CWE-126
CASE length_of_a_local(int bad, const uint8_t *data, size_t size) {
  char local[256];
  char *p = hide(local);
  memset(p, 'x', sizeof local);
  if (!bad) p[255] = 0;
  sink = (int)strlen(p); // BAD
}

// The array is all of the frame once parameters are in registers.
// case: frame-overflow -O2 CWE-121
CASE write_after_a_local(int bad, const uint8_t *data, size_t size) {
  char local[16];
  char *p = hide(local);
  p[bad ? 16 : 15] = 1; // BAD
  sink = local[3];
}

// case: unclaimed CWE-124
CASE write_before_a_local(int bad, const uint8_t *data, size_t size) {
  char local[16];
  char *p = hide(local);
  p[bad ? -1 : 0] = 1; // BAD
  sink = local[3];
}

// case: frame-overflow -O2 CWE-126
CASE read_after_a_local(int bad, const uint8_t *data, size_t size) {
  int local[4] = {1, 2, 3, 4};
  int *p = hide(local);
  sink = p[bad ? 4 : 3]; // BAD
}

// case: unclaimed CWE-127
CASE read_before_a_local(int bad, const uint8_t *data, size_t size) {
  int local[4] = {1, 2, 3, 4};
  int *p = hide(local);
  sink = p[bad ? -1 : 0]; // BAD
}

// case: unclaimed CWE-126
CASE read_after_a_global(int bad, const uint8_t *data, size_t size) {
  static int global[4] = {1, 2, 3, 4};
  int *p = hide(global);
  sink = p[bad ? 4 : 3]; // BAD
}

// case: unclaimed CWE-122
CASE from_field_to_field(int bad, const uint8_t *data, size_t size) {
  struct { char name[8]; int role; } *p = hide(calloc(1, sizeof *p));
  char *name = hide(p->name);
  name[bad ? 8 : 7] = 1; // BAD
  sink = p->role;
  free(p);
}

// case: unclaimed CWE-122
CASE over_the_red_zone(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(16)), *q = hide(malloc(4096));
  p[bad ? q - p : 0] = 1; // BAD
  free(hide(q));
  free(hide(p));
}

// case: heap-overflow CWE-124
CASE one_write_over_the_start(int bad, const uint8_t *data, size_t size) {
  char *p = hide(malloc(16));
  struct { int value; } __attribute__((packed)) *unaligned = hide(bad ? p - 2 : p + 2);
  unaligned->value = 1; // BAD
  free(hide(p));
}

// case: unclaimed CWE-457
CASE read_of_fresh_memory(int bad, const uint8_t *data, size_t size) {
  int *p = hide(malloc(16));
  if (!bad) p[2] = 1;
  sink = p[2] ? 1 : 2; // BAD
  free(p);
}

// case: unclaimed CWE-457
CASE read_of_a_fresh_local(int bad, const uint8_t *data, size_t size) {
  int local[4];
  int *p = hide(local);
  if (!bad) p[2] = 1;
  sink = p[2] ? 1 : 2; // BAD
}

typedef void twin(int bad, const uint8_t *data, size_t size);

static twin *const twins[] = {
    write_at_end,        read_at_end,          write_before_start, read_before_start, odd_size,
    wide_read_over_odd_end, loop_one_too_far,  copy_of_text,       copy_of_bytes,     copy_from_too_little,
    fill,                length_without_end,   after_realloc,      empty_block,       flexible_list,
    read_after_free,     write_after_free,     old_pointer_after_realloc, list_freed_while_walked, freed_twice,
    freed_twice_with_others_between, free_of_the_middle, free_of_a_global, free_of_the_stack, read_of_null,
    write_to_null,       write_to_constant,    read_past_the_input, aligned_block,    text_after_free,
    many_blocks_later,   realloc_of_a_freed_block, fill_before_start, copy_from_before_start, realloc_of_the_middle,
    copy_to_null,        more_than_the_stack,  loop_over_the_frame, fill_over_the_frame, length_of_a_local, write_after_a_local, write_before_a_local, read_after_a_local,
    read_before_a_local, read_after_a_global,  from_field_to_field, over_the_red_zone,   one_write_over_the_start,
    read_of_fresh_memory, read_of_a_fresh_local,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A frame, so that what leaves a case's own frame comes here and not to what lies behind the stack.
  char frame[64];
  hide(frame);
  if (size < 2 || data[0] >= sizeof twins / sizeof *twins) return -1;
  twins[data[0]](data[1] == 'b', data, size);
  return 0;
}
