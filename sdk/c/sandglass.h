// The contract of Sandglass for C and C++: draws, spans, verdicts and entry points. Header only, no libc, clang or zig.
//
// A target, a generator and a property, whole (each export once per module):
//
//     SG_TARGET(data, size) { return parses(data, size) ? SG_VALID : SG_INVALID; }
//
//     SG_GENERATOR {
//       static const char *const names[] = {"red", "green", "blue"};
//       int64_t count = sg_int(SG_STRUCTURE, 0, 4);
//       for (int64_t i = 0; i < count; i++) {
//         SG_SPAN("name");                            // until the end of the block: what is drawn belongs together
//         sg_emit_text(sg_word(SG_VALUE, names, 3));
//       }
//     }
//
//     SG_PROPERTY {
//       uint32_t a = sg_u32(SG_VALUE), b = sg_u32(SG_VALUE);
//       sg_assume(b != 0);                            // else the trial is invalid, not a finding
//       SG_CHECK(a / b * b + a % b == a);             // else the trial is a finding: a trap at this line
//       return SG_VALID;
//     }
//
// Everything is drawn at a site: SG_STRUCTURE when what is drawn later depends on it, SG_VALUE when nothing does,
// SG_SITE to let the engine learn which. A site's number is made of the file's name, the line and a counter, so it is
// the same in every build of the same source.
//
// Outside of wasm there is no host: SG_TARGET, SG_CHECK, sg_stage and sg_note still compile (for libFuzzer), draws do not.
#ifndef SANDGLASS_H
#define SANDGLASS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define SG_C extern "C"
#else
#define SG_C
#endif

#define SG_VALID 0
#define SG_INVALID (-1)

#ifdef __wasm__
#define SG_EXPORT(name) __attribute__((export_name(#name)))
#define SG_IMPORT(name) SG_C __attribute__((import_module("sandglass"), import_name(#name)))
#else
#define SG_EXPORT(name)
#endif

// ---- entry points ----

// Runs one input: SG_VALID when accepted, SG_INVALID when rejected. libFuzzer's name and meaning.
#define SG_TARGET(data, size)                                                                     \
  SG_C SG_EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); \
  SG_C int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)

// Draws, and emits the input for a target.
#define SG_GENERATOR                                                \
  SG_C SG_EXPORT(sandglass_generate) void sandglass_generate(void); \
  SG_C void sandglass_generate(void)

// Draws and checks: SG_VALID, SG_INVALID, or a trap.
#define SG_PROPERTY                                                \
  SG_C SG_EXPORT(sandglass_property) int sandglass_property(void); \
  SG_C int sandglass_property(void)

// Runs once, before the snapshot from which every run starts.
#define SG_SETUP                                              \
  SG_C SG_EXPORT(sandglass_setup) void sandglass_setup(void); \
  SG_C void sandglass_setup(void)

// ---- findings ----

// Ends the run in a trap: a finding of this line. A bare __builtin_trap() is one, too, but compilers that optimise make one
// of all in a function, so that different faults become one finding, on the line of any of them: the line as an operand of
// no instruction keeps them apart.
#define SG_FAIL()                              \
  do {                                         \
    __asm__ volatile("" : : "i"(__LINE__));    \
    __builtin_trap();                          \
  } while (0)

// Fails, with the condition's text as a note, unless the condition holds. Different from assert(), it needs no libc, and
// stays under NDEBUG.
#define SG_CHECK(condition)                       \
  do {                                            \
    if (!(condition)) {                           \
      sg_note("check failed: " #condition);       \
      SG_FAIL();                                  \
    }                                             \
  } while (0)

static inline size_t sg_length(const char *text) {
  size_t length = 0;
  while (text[length]) length++;
  return length;
}

#ifndef __wasm__

static inline void sg_stage(uint32_t reached) { (void)reached; }
static inline void sg_note(const char *text) { (void)text; }

#else

// ---- the imports ----

SG_IMPORT(draw_int) int64_t sandglass_draw_int(uint32_t site, int32_t role, int64_t lo, int64_t hi);
SG_IMPORT(draw_bool) int32_t sandglass_draw_bool(uint32_t site, int32_t role, uint32_t num, uint32_t den);
SG_IMPORT(draw_float) double sandglass_draw_float(uint32_t site, int32_t role, double lo, double hi);
SG_IMPORT(draw_bytes) uint32_t sandglass_draw_bytes(uint32_t site, int32_t role, void *to, uint32_t min, uint32_t max);
SG_IMPORT(draw_string) int32_t sandglass_draw_string(uint32_t site, int32_t role, void *to, uint32_t max);
SG_IMPORT(label) int32_t sandglass_label(const char *text, size_t length);
SG_IMPORT(span_open) void sandglass_span_open(int32_t label);
SG_IMPORT(span_close) void sandglass_span_close(int32_t discard);
SG_IMPORT(emit) void sandglass_emit(const void *bytes, size_t length);
SG_IMPORT(stage) void sandglass_stage(uint32_t reached);
SG_IMPORT(reject) __attribute__((noreturn)) void sandglass_reject(void);
SG_IMPORT(note) void sandglass_note(const char *text, size_t length);

// ---- sites ----

typedef struct {
  uint32_t id;
  int32_t role; // 0 unknown, 1 structure, 2 value
} sg_site;

#ifdef __FILE_NAME__
#define SG_FILE __FILE_NAME__ // without folders, which differ between machines
#else
#define SG_FILE __FILE__
#endif

// FNV-1a over the file's name; a compiler that optimises folds it.
static inline uint32_t sg_hash(const char *text, uint32_t line, uint32_t count) {
  uint32_t hash = 0x811c9dc5u;
  for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 0x01000193u;
  for (int i = 0; i < 4; i++) hash = (hash ^ (line >> 8 * i & 255)) * 0x01000193u;
  for (int i = 0; i < 4; i++) hash = (hash ^ (count >> 8 * i & 255)) * 0x01000193u;
  return hash;
}

static inline sg_site sg_at(uint32_t id, int32_t role) {
  sg_site site;
  site.id = id;
  site.role = role;
  return site;
}

#define SG_ROLE(role) sg_at(sg_hash(SG_FILE, __LINE__, __COUNTER__), role)
#define SG_SITE SG_ROLE(0)
#define SG_STRUCTURE SG_ROLE(1)
#define SG_VALUE SG_ROLE(2)

// ---- draws ----

// Of [lo, hi], evenly. An empty range ends the trial, and the host says so.
static inline int64_t sg_int(sg_site site, int64_t lo, int64_t hi) { return sandglass_draw_int(site.id, site.role, lo, hi); }
static inline uint32_t sg_u32(sg_site site) { return (uint32_t)sg_int(site, 0, UINT32_MAX); }
static inline size_t sg_index(sg_site site, size_t count) { return (size_t)sg_int(site, 0, (int64_t)count - 1); }

// True with a probability of num/den.
static inline int sg_chance(sg_site site, uint32_t num, uint32_t den) {
  return sandglass_draw_bool(site.id, site.role, num, den) != 0;
}
static inline int sg_bool(sg_site site) { return sg_chance(site, 1, 2); }

// Of [lo, hi), evenly; lo if both are the same. hi - lo must be finite and not negative, else the trial ends, and the host
// says so.
static inline double sg_float(sg_site site, double lo, double hi) { return sandglass_draw_float(site.id, site.role, lo, hi); }

// At least min bytes and at most max, which is the buffer's size; how many.
static inline size_t sg_bytes(sg_site site, void *to, size_t min, size_t max) {
  return sandglass_draw_bytes(site.id, site.role, to, (uint32_t)min, (uint32_t)max);
}

// A string that the target's own code names, cut to max bytes; -1 unless the guidance has a table of these and a coin says
// so: then draw another one.
static inline int32_t sg_known(sg_site site, void *to, size_t max) {
  return sandglass_draw_string(site.id, site.role, to, (uint32_t)max);
}

// One of the words.
static inline const char *sg_word(sg_site site, const char *const *words, size_t count) {
  return words[sg_index(site, count)];
}

// The index of one of the weights, as likely as it is heavy.
static inline size_t sg_weighted(sg_site site, const uint32_t *weights, size_t count) {
  int64_t sum = 0;
  for (size_t i = 0; i < count; i++) sum += weights[i];
  int64_t rest = sg_int(site, 0, sum - 1);
  size_t index = 0;
  while (rest >= weights[index]) rest -= weights[index++];
  return index;
}

// 1, 2, … around a mean: the sizes of Zest's generators. The smallest n with (1 - 1/mean)^n <= 1 - u, in as many turns. A
// mean of 0 or of more than 65,536 ends the trial, as an empty range does.
static inline uint32_t sg_geometric(sg_site site, uint32_t mean) {
  if (mean == 0 || mean > 65536) sg_int(site, 1, 0);
  double left = 1.0 - sg_float(site, 0.0, 1.0), again = 1.0 - 1.0 / mean, tail = again;
  uint32_t count = 1;
  for (; tail > left; count++) tail *= again;
  return count;
}

// A string of min to max letters of [first, last]; the buffer has room for one more. Its length.
static inline size_t sg_string(sg_site site, char *to, size_t min, size_t max, char first, char last) {
  sg_site letters = sg_at((site.id ^ 1) * 0x01000193u, site.role);
  size_t length = (size_t)sg_int(site, (int64_t)min, (int64_t)max);
  for (size_t i = 0; i < length; i++) to[i] = (char)sg_int(letters, first, last);
  to[length] = 0;
  return length;
}

// ---- spans ----

static inline int32_t sg_span_begin(int32_t *known, const char *label) {
  if (*known == 0) *known = sandglass_label(label, sg_length(label)) + 1;
  sandglass_span_open(*known - 1);
  return 0;
}
static inline void sg_span_end(const int32_t *discard) { sandglass_span_close(*discard); }

#define SG_JOIN_(a, b) a##b
#define SG_JOIN(a, b) SG_JOIN_(a, b)

// From here to the end of the block, also when it is left early, draws belong together, under a name.
#define SG_SPAN(label) SG_SPAN_AS(SG_JOIN(sg_span_, __LINE__), label)

// The same under a variable's name: set it to 1 when nothing came of what was drawn.
#define SG_SPAN_AS(discard, label)          \
  static int32_t SG_JOIN(discard, _known);  \
  __attribute__((cleanup(sg_span_end), unused)) int32_t discard = sg_span_begin(&SG_JOIN(discard, _known), label)

// ---- what is said about the trial ----

static inline void sg_emit(const void *bytes, size_t length) { sandglass_emit(bytes, length); }
static inline void sg_emit_text(const char *text) { sg_emit(text, sg_length(text)); }
static inline void sg_emit_int(int64_t number) {
  char digits[20];
  size_t at = sizeof digits;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do digits[--at] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (number < 0) sg_emit("-", 1);
  sg_emit(digits + at, sizeof digits - at);
}

// How far the input came; the furthest counts. 1 is usually: syntactically valid.
static inline void sg_stage(uint32_t reached) { sandglass_stage(reached); }

// Ends the trial as invalid.
__attribute__((noreturn)) static inline void sg_reject(void) { sandglass_reject(); }
static inline void sg_assume(int condition) {
  if (!condition) sg_reject();
}

// Text for reports.
static inline void sg_note(const char *text) { sandglass_note(text, sg_length(text)); }

#endif
#endif
