// A reader of settings files (sections, `key = value`), with five bugs of the kind that real readers have.
//
// It is freestanding C: a fixed arena, no allocator. The bugs, none of them marked in the code:
//
// 1. `rate` may be zero, and the interval is computed from it;
// 2. a section may inherit from itself, directly or through others;
// 3. the value of `filter` is checked with <= instead of <;
// 4. `size` is trusted, as a signed number, when the last byte of the buffer is cleared;
// 5. a line that ends in a backslash at the end of the file is continued for ever.

typedef unsigned char u8;
typedef unsigned int u32;

#define SECTIONS 8
#define NAME 12

struct section {
  char name[NAME];
  char parent[NAME];
  u32 rate, interval;
  int depth;
};

struct text {
  const u8 *at, *end;
};

static u32 low_pass(u32 x) { return x / 2; }
static u32 high_pass(u32 x) { return x - x / 4; }
static u32 band_pass(u32 x) { return x / 3 + 1; }

static struct {
  u32 (*filters[3])(u32);
  u32 gain;
  u8 buffer[256];
} device = {{low_pass, high_pass, band_pass}, 4096, {0}};

static struct section sections[SECTIONS];
static u32 section_count;

static inline int is_space(u8 c) { return c == ' ' || c == '\t'; }

static int same(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

static inline void skip_spaces(struct text *t) {
  while (t->at < t->end && is_space(*t->at)) t->at++;
}

// Reads a word of letters, digits and `_` into `out`, cut at its size.
static u32 word(struct text *t, char *out) {
  u32 n = 0;
  while (t->at < t->end) {
    u8 c = *t->at;
    int letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (!letter) break;
    if (n < NAME - 1) out[n++] = (char)c;
    t->at++;
  }
  out[n] = 0;
  return n;
}

// Reads a decimal number; a line may go on after a backslash.
__attribute__((noinline)) static int number(struct text *t, int *out) {
  int value = 0, negative = 0, digits = 0;
  if (t->at < t->end && *t->at == '-') negative = 1, t->at++;
  for (;;) {
    if (t->at < t->end && *t->at == '\\') {
      do {
        if (t->at < t->end) t->at++;
      } while (t->at == t->end || *t->at != '\n');
      t->at++;
      continue;
    }
    if (t->at == t->end || *t->at < '0' || *t->at > '9') break;
    value = (int)((u32)value * 10 + (*t->at - '0'));
    digits++, t->at++;
  }
  *out = negative ? -value : value;
  return digits > 0;
}

static struct section *find(const char *name) {
  for (u32 i = 0; i < section_count; i++)
    if (same(sections[i].name, name)) return &sections[i];
  return 0;
}

__attribute__((noinline)) static int depth_of(struct section *s) {
  struct section *parent = s->parent[0] ? find(s->parent) : 0;
  if (!parent) return s->depth = 0;
  s->depth = depth_of(parent) + 1;
  return s->depth;
}

static inline u32 interval(u32 rate) { return 1000000 / rate; }

static inline u32 filtered(int choice, u32 x) { return device.filters[choice](x); }

__attribute__((noinline)) static int set_filter(int choice) {
  if (choice < 0 || choice > 3) return -1;
  device.gain = filtered(choice, device.gain);
  return 0;
}

static inline void clear_last(int size) { device.buffer[size - 1] = 0; }

__attribute__((noinline)) static int set_size(int size) {
  if (size > (int)sizeof device.buffer) return -1;
  clear_last(size);
  return 0;
}

__attribute__((noinline)) static int assign(struct section *s, const char *key, struct text *t) {
  int value;
  if (!number(t, &value)) return -1;
  if (same(key, "rate")) {
    s->rate = (u32)value;
    s->interval = interval(s->rate);
    return 0;
  }
  if (same(key, "filter")) return set_filter(value);
  if (same(key, "size")) return set_size(value);
  return key[0] == 'x' ? 0 : -1;
}

// `[name]` or `[name:parent]`
static struct section *header(struct text *t) {
  struct section *s;
  if (section_count == SECTIONS) return 0;
  s = &sections[section_count];
  t->at++;
  if (!word(t, s->name)) return 0;
  s->parent[0] = 0;
  if (t->at < t->end && *t->at == ':') {
    t->at++;
    if (!word(t, s->parent)) return 0;
  }
  if (t->at == t->end || *t->at != ']') return 0;
  t->at++;
  section_count++;
  return s;
}

__attribute__((noinline)) static int parse(struct text *t) {
  struct section *current = 0;
  char key[NAME];
  while (t->at < t->end) {
    skip_spaces(t);
    if (t->at == t->end) break;
    if (*t->at == '\n') {
      t->at++;
    } else if (*t->at == '#') {
      while (t->at < t->end && *t->at != '\n') t->at++;
    } else if (*t->at == '[') {
      current = header(t);
      if (!current) return -1;
    } else {
      if (!current || !word(t, key)) return -1;
      skip_spaces(t);
      if (t->at == t->end || *t->at != '=') return -1;
      t->at++;
      skip_spaces(t);
      if (assign(current, key, t)) return -1;
    }
  }
  for (u32 i = 0; i < section_count; i++) depth_of(&sections[i]);
  return 0;
}

__attribute__((export_name("LLVMFuzzerTestOneInput"))) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  struct text t = {data, data + size};
  section_count = 0;
  return parse(&t);
}
