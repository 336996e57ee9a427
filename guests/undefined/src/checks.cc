// Small programs with undefined behaviour, one for each check, and their good twins.
//
// The first byte of the input is the number of a case, the second whether it is the bad one (`b`). A comment above a case
// says what a finding must call it; the comment BAD marks its line.

#include <stddef.h>
#include <stdint.h>

#define CASE static __attribute__((noinline)) int

// Keeps the compiler from knowing what a value is.
template <typename T> static T hide(T value) {
  static volatile T hidden;
  hidden = value;
  return hidden;
}

enum colour { RED, GREEN, BLUE };
struct pair { int first, second; };
static __attribute__((aligned(8))) unsigned char bytes[16];
static int number;

// check: signed integer overflow
CASE add(int bad) {
  return hide(0x7fffffff) + hide(bad); // BAD
}

// check: signed integer overflow
CASE subtract(int bad) {
  return hide(-0x7fffffff) - hide(bad * 2); // BAD
}

// check: signed integer overflow
CASE multiply(int bad) {
  return hide(0x40000000) * hide(bad ? 2 : 1); // BAD
}

// check: signed integer overflow
CASE add_wide(int bad) {
  return (int)(hide(0x7fffffffffffffffLL) + hide((long long)bad)); // BAD
}

// check: signed integer overflow
CASE negate(int bad) {
  return -hide(-0x7fffffff - bad); // BAD
}

// check: signed integer overflow
CASE divide_lowest(int bad) {
  return hide(-0x7fffffff - bad) / hide(-1); // BAD
}

// check: shift out of bounds
CASE shift_too_far(int bad) {
  return hide(1u) >> hide(bad ? 32 : 31); // BAD
}

// check: shift out of bounds
CASE shift_by_less_than_nothing(int bad) {
  return hide(1) << hide(-bad); // BAD
}

// check: division by zero
CASE divide(int bad) {
  return hide(10) / hide(1 - bad); // BAD
}

// check: division by zero
CASE remainder_wide(int bad) {
  return (int)(hide(10LL) % hide(1LL - bad)); // BAD
}

// check: array index out of bounds
CASE index(int bad) {
  static int table[4];
  return table[hide(bad ? 4 : 3)]; // BAD
}

// check: load of null pointer
CASE load_null(int bad) {
  return *hide(bad ? (int *)nullptr : &number); // BAD
}

// check: store to null pointer
CASE store_null(int bad) {
  *hide(bad ? (int *)nullptr : &number) = 1; // BAD
  return 0;
}

// check: member access within null pointer
CASE member_of_null(int bad) {
  static pair pair;
  return hide(bad ? (struct pair *)nullptr : &pair)->second; // BAD
}

// check: reference binding to null pointer
CASE reference_to_null(int bad) {
  int &reference = *hide(bad ? (int *)nullptr : &number); // BAD
  return &reference == &number;
}

// check: load of misaligned address
CASE misaligned(int bad) {
  return *hide((int *)(bytes + (bad ? 2 : 4))); // BAD
}

// check: offset from a null pointer
CASE offset_of_null(int bad) {
  char *p = hide(bad ? (char *)nullptr : (char *)bytes);
  return hide(p + hide(4)) == nullptr; // BAD
}

// check: pointer overflow
CASE offset_too_far(int bad) {
  char *p = (char *)bytes;
  return hide(p + hide(bad ? 0xfffffff0u : 4u)) == nullptr; // BAD
}

// check: load of an invalid bool
CASE invalid_bool(int bad) {
  bytes[0] = hide(bad ? 2 : 1);
  return *hide((bool *)bytes); // BAD
}

// check: load of an invalid enum
CASE invalid_enum(int bad) {
  bytes[0] = hide(bad ? 77 : 1);
  return *hide((colour *)bytes); // BAD
}

// check: execution of unreachable code
CASE unreachable(int bad) {
  if (hide(bad)) __builtin_unreachable(); // BAD
  return 0;
}

// check: end of a function without its result
CASE missing_return(int bad) { // BAD
  if (!hide(bad)) return 0;
}

// check: float outside of the range of the integer
CASE float_to_integer(int bad) {
  return (int)hide(bad ? 3e9 : 2e9); // BAD
}

// check: variable length array without a positive length
CASE length_of_array(int bad) {
  int values[hide(bad ? -1 : 4)]; // BAD
  values[0] = 1;
  return *hide((int *)values);
}

// check: null pointer returned where none may be
__attribute__((returns_nonnull)) CASE *null_returned(int bad) {
  return hide(bad ? (int *)nullptr : &number); // BAD
}

__attribute__((nonnull)) static __attribute__((noinline)) void take(int *p) { *p = 1; }

// check: null pointer passed where none may be
CASE null_passed(int bad) {
  take(hide(bad ? (int *)nullptr : &number)); // BAD
  return 0;
}

// check: count of the zeros of 0
CASE zeros_of_zero(int bad) {
  return __builtin_ctz(hide(bad ? 0 : 8)); // BAD
}

static int null_returned_of(int bad) { return *null_returned(bad); }

static int (*const cases[])(int bad) = {
  add, subtract, multiply, add_wide, negate, divide_lowest, shift_too_far, shift_by_less_than_nothing, divide, remainder_wide, index,
  load_null, store_null, member_of_null, reference_to_null, misaligned, offset_of_null, offset_too_far, invalid_bool,
  invalid_enum, unreachable, missing_return, float_to_integer, length_of_array, null_returned_of, null_passed, zeros_of_zero,
};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2 || data[0] >= sizeof cases / sizeof *cases) return -1;
  hide(cases[data[0]](data[1] == 'b'));
  return 0;
}
