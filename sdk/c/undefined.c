// What the checks of -fsanitize=undefined call: one line on standard error that says which check failed and where, and the
// run ends.
//
//   undefined behaviour: signed integer overflow at parse.c:12:5
//
// Sandglass takes the line into the finding. `sandglass build --sanitize undefined` compiles this file and links it; for
// other builds, compile it with -fno-sanitize=all, and the rest with -fsanitize=undefined -fno-sanitize-recover=all.
// It needs fd_write of WASI and nothing of a C library. The arguments are those of compiler-rt's lib/ubsan/ubsan_handlers.h.

#include <stddef.h>
#include <stdint.h>

typedef uintptr_t value; // what does not fit is passed by address

struct place { const char *file; uint32_t line, column; };
struct type { uint16_t kind, info; char name[]; };
enum { INTEGER = 0 }; // a kind; its info: the lowest bit says signed, those above the logarithm of the width

// Each handler's data begins with the place.
struct typed { struct place place; const struct type *type; };
struct mismatch { struct place place; const struct type *type; uint8_t alignment_log2, how; };
struct builtin { struct place place; uint8_t which; };

struct span { const char *start; size_t bytes; };
__attribute__((import_module("wasi_snapshot_preview1"), import_name("fd_write")))
int32_t sandglass_undefined_write(int32_t file, const struct span *spans, int32_t count, size_t *written);

static struct span text(const char *start) {
  struct span span = {start, 0};
  while (start[span.bytes]) span.bytes++;
  return span;
}

// The digits of a number, at the end of `room`.
static struct span digits(uint32_t number, char room[10]) {
  char *start = room + 10;
  do *--start = (char)('0' + number % 10); while (number /= 10);
  return (struct span){start, (size_t)(room + 10 - start)};
}

static __attribute__((noinline)) _Noreturn void sandglass_undefined_report(const struct place *place, const char *what, const char *of) {
  char line[10], column[10];
  struct span spans[] = {
    text("undefined behaviour: "), text(what), text(of), text(" at "), text(place && place->file ? place->file : "?"), text(":"),
    digits(place ? place->line : 0, line), text(":"), digits(place ? place->column : 0, column), text("\n"),
  };
  size_t written;
  sandglass_undefined_write(2, spans, sizeof spans / sizeof *spans, &written);
  __builtin_trap();
}

// Some compilers and flags choose the names of the handlers that return. Here none does.
#define HANDLER(name, parameters, body) \
  void __ubsan_handle_##name parameters; \
  void __ubsan_handle_##name parameters body \
  void __ubsan_handle_##name##_abort parameters; \
  void __ubsan_handle_##name##_abort parameters body

static _Noreturn void sandglass_undefined_overflow(const struct typed *data) {
  int is_signed = data->type->kind == INTEGER && data->type->info & 1;
  sandglass_undefined_report(&data->place, is_signed ? "signed" : "unsigned", " integer overflow");
}

HANDLER(add_overflow, (struct typed *data, value left, value right), { sandglass_undefined_overflow(data); })
HANDLER(sub_overflow, (struct typed *data, value left, value right), { sandglass_undefined_overflow(data); })
HANDLER(mul_overflow, (struct typed *data, value left, value right), { sandglass_undefined_overflow(data); })
HANDLER(negate_overflow, (struct typed *data, value old), { sandglass_undefined_overflow(data); })

static int is_zero(const struct type *type, value number) {
  size_t bits = (size_t)1 << (type->info >> 1);
  if (bits <= 8 * sizeof(value)) return number == 0;
  const uint8_t *bytes = (const uint8_t *)number;
  for (size_t n = 0; n < bits / 8; n++)
    if (bytes[n]) return 0;
  return 1;
}

static _Noreturn void sandglass_undefined_division(const struct typed *data, value right) {
  if (data->type->kind == INTEGER && !is_zero(data->type, right)) sandglass_undefined_overflow(data);
  sandglass_undefined_report(&data->place, "division by zero", "");
}
HANDLER(divrem_overflow, (struct typed *data, value left, value right), { sandglass_undefined_division(data, right); })

static _Noreturn void sandglass_undefined_mismatch(const struct mismatch *data, value pointer) {
  static const char *const hows[] = {
    "load of", "store to", "reference binding to", "member access within", "member call on", "constructor call on",
    "downcast of", "downcast of", "upcast of", "cast to virtual base of", "nonnull binding to", "dynamic operation on",
  };
  const char *how = data->how < sizeof hows / sizeof *hows ? hows[data->how] : "use of";
  value misaligned = pointer & (((value)1 << data->alignment_log2) - 1);
  sandglass_undefined_report(&data->place, how, !pointer ? " null pointer" : misaligned ? " misaligned address" : " address without space for the object");
}
HANDLER(type_mismatch_v1, (struct mismatch *data, value pointer), { sandglass_undefined_mismatch(data, pointer); })

static _Noreturn void sandglass_undefined_pointer_overflow(const struct place *place, value base, value result) {
  if (base && result) sandglass_undefined_report(place, "pointer overflow", "");
  sandglass_undefined_report(place, base ? "offset that makes a pointer null" : "offset from a null pointer", "");
}
HANDLER(pointer_overflow, (struct place *place, value base, value result), { sandglass_undefined_pointer_overflow(place, base, result); })

static _Noreturn void sandglass_undefined_invalid_value(const struct typed *data) {
  const char *name = data->type->name; // as in 'bool' or '_Bool', with the quotes
  int is_bool = (name[1] == 'b' && name[2] == 'o') || (name[1] == '_' && name[2] == 'B');
  sandglass_undefined_report(&data->place, "load of an invalid ", is_bool ? "bool" : "enum");
}
HANDLER(load_invalid_value, (struct typed *data, value number), { sandglass_undefined_invalid_value(data); })

HANDLER(shift_out_of_bounds, (struct place *place, value left, value right), { sandglass_undefined_report(place, "shift out of bounds", ""); })
HANDLER(out_of_bounds, (struct place *place, value index), { sandglass_undefined_report(place, "array index out of bounds", ""); })
HANDLER(local_out_of_bounds, (void), { sandglass_undefined_report(NULL, "access out of bounds", ""); })
HANDLER(vla_bound_not_positive, (struct place *place, value bound), { sandglass_undefined_report(place, "variable length array without a positive length", ""); })
HANDLER(float_cast_overflow, (struct place *place, value from), { sandglass_undefined_report(place, "float outside of the range of the integer", ""); })
HANDLER(implicit_conversion, (struct place *place, value from, value to), { sandglass_undefined_report(place, "implicit conversion that loses the value", ""); })
HANDLER(invalid_builtin, (struct builtin *data), { sandglass_undefined_report(&data->place, data->which == 2 ? "assumption violated" : "count of the zeros of 0", ""); })
HANDLER(alignment_assumption, (struct place *place, value pointer, value alignment, value offset), { sandglass_undefined_report(place, "assumed alignment violated", ""); })
HANDLER(nonnull_return_v1, (void *data, struct place *place), { sandglass_undefined_report(place, "null pointer returned where none may be", ""); })
HANDLER(nullability_return_v1, (void *data, struct place *place), { sandglass_undefined_report(place, "null pointer returned where none may be", ""); })
HANDLER(nonnull_arg, (struct place *place), { sandglass_undefined_report(place, "null pointer passed where none may be", ""); })
HANDLER(nullability_arg, (struct place *place), { sandglass_undefined_report(place, "null pointer passed where none may be", ""); })

// These two have one name each.
void __ubsan_handle_builtin_unreachable(struct place *place);
void __ubsan_handle_builtin_unreachable(struct place *place) { sandglass_undefined_report(place, "execution of unreachable code", ""); }
void __ubsan_handle_missing_return(struct place *place);
void __ubsan_handle_missing_return(struct place *place) { sandglass_undefined_report(place, "end of a function without its result", ""); }
