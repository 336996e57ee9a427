// Ways in which a value can come from the input, one a case: byte 0 says which, the rest is data. What
// decisions depend on is known from changing bytes and looking at what changes (tests/dependence.rs).

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// Decisions that no compiler can fold away.
static volatile int sink;
#define DECIDE(condition)                                                                          \
  do {                                                                                             \
    if (condition) sink++;                                                                         \
  } while (0)

static u32 big(const u8 *p) { return (u32)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }
static u32 little(const u8 *p) { return p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24; }

static void bits(const u8 *p) {
  u32 word = little(p);
  DECIDE((word & 0xff00) == 0x4100);
  DECIDE((word >> 16 & 0xff) < 7);
  DECIDE((u8)(word >> 24) > 0x40);
  DECIDE((word << 8) == 0x41424300);
  DECIDE((p[4] ^ p[5]) == 3);
  DECIDE(__builtin_popcount(p[6] | p[7] << 8) > 5);
  DECIDE((word << 3 | word >> 29) == 12345);
}

static void casts(const u8 *p) {
  signed char narrow = (signed char)p[0];
  DECIDE(narrow < -3);
  short half = (short)(p[1] | p[2] << 8);
  DECIDE((long long)half * 3 == 1000);
  DECIDE((double)half / 2 > 100.5);
  DECIDE((float)p[3] == 65.0f);
  DECIDE((u64)little(p + 4) * little(p + 8) == 0x100000000ull);
  DECIDE((int)((double)p[12] * 1.5) == 30);
}

static void match(const u8 *p) {
  switch (p[0]) {
  case 'a': DECIDE(p[1] == 1); break;
  case 'b': DECIDE(p[2] == 1); break;
  case 'c': DECIDE(p[3] == 1); break;
  case 'd': DECIDE(p[4] == 1); break;
  case 'e': DECIDE(p[5] == 1); break;
  default: DECIDE(p[6] == 1);
  }
  switch (big(p + 7)) {
  case 0x52494646: DECIDE(p[11] == 2); break;
  case 0x89504e47: DECIDE(p[12] == 2); break;
  default: DECIDE(p[13] == 2);
  }
}

static void hash(const u8 *p) {
  u32 fnv = 2166136261u;
  for (int i = 0; i < 8; i++) fnv = (fnv ^ p[i]) * 16777619u;
  DECIDE(fnv == 0x12345678);
  u32 adler_a = 1, adler_b = 0;
  for (int i = 0; i < 8; i++) {
    adler_a = (adler_a + p[i]) % 65521;
    adler_b = (adler_b + adler_a) % 65521;
  }
  DECIDE((adler_b << 16 | adler_a) == big(p + 8));
}

// Branches decide how far it reads; the value is data.
static void decimal(const u8 *p) {
  double value = 0, scale = 1;
  int i = 0;
  for (; i < 4 && (u8)(p[i] - '0') < 10; i++) value = value * 10 + (p[i] - '0');
  if (p[i] == '.')
    for (i++; i < 8 && (u8)(p[i] - '0') < 10; i++) value += (p[i] - '0') * (scale /= 10);
  DECIDE(value > 12.5);
  DECIDE(value == 99.25);
}

static const u8 classes[256] = {['0'] = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ['a'] = 2, 2, 2, 2, 2, 2,
                                ['A'] = 2, 2, 2, 2, 2, 2, ['_'] = 3, [' '] = 4, ['\n'] = 5};
static const u32 weights[8] = {3, 1, 4, 1, 5, 9, 2, 6};

static void table(const u8 *p) {
  DECIDE(classes[p[0]] == 1);
  DECIDE(classes[p[1]] == 2);
  DECIDE(weights[p[2] & 7] > 3);
  u32 sum = 0;
  for (int i = 3; i < 8; i++) sum += weights[p[i] & 7];
  DECIDE(sum == 20);
}

static void sort(const u8 *p) {
  u8 sorted[6];
  for (int i = 0; i < 6; i++) sorted[i] = p[i];
  for (int i = 1; i < 6; i++)
    for (int j = i; j > 0 && sorted[j - 1] > sorted[j]; j--) {
      u8 swap = sorted[j];
      sorted[j] = sorted[j - 1];
      sorted[j - 1] = swap;
    }
  DECIDE(sorted[0] == 1);
  DECIDE(sorted[5] == 200);
}

struct header {
  u32 magic;
  u16 version, flags;
  u64 length;
  u8 name[8];
};

static struct header copies[2];

static void structs(const u8 *p) {
  __builtin_memcpy(&copies[0], p, sizeof copies[0]);
  copies[1] = copies[0];
  struct header *header = &copies[1];
  DECIDE(header->magic == 0x46464952);
  DECIDE(header->version > 3);
  DECIDE(header->flags & 0x100);
  DECIDE(header->length == 0x1122334455667788ull);
  DECIDE(header->name[3] == 'x');
  __builtin_memset(header->name, p[23], 4);
  DECIDE(header->name[2] == 'y');
  DECIDE(header->name[5] == 'z');
  struct {
    u32 low : 12, middle : 8, high : 12;
  } fields;
  __builtin_memcpy(&fields, p, 4);
  DECIDE(fields.middle == 77);
}

static int compare(const u8 *left, const u8 *right, u32 count) {
  for (u32 i = 0; i < count; i++)
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  return 0;
}

static void text(const u8 *p) {
  DECIDE(compare(p, (const u8 *)"hello", 5) == 0);
  DECIDE(compare(p + 5, p + 10, 5) == 0);
  u8 lower[5];
  for (int i = 0; i < 5; i++) lower[i] = p[15 + i] >= 'A' && p[15 + i] <= 'Z' ? p[15 + i] | 32 : p[15 + i];
  for (int i = 0; i < 5; i++) DECIDE(lower[i] == "world"[i]);
}

static u32 twice(u32 x) { return x * 2; }
static u32 plus(u32 x) { return x + 17; }
static u32 (*volatile functions[2])(u32) = {twice, plus};

static u32 collatz(u32 x, u32 depth) { return depth == 0 ? x : collatz(x & 1 ? 3 * x + 1 : x / 2, depth - 1); }

static void calls(const u8 *p) {
  DECIDE(functions[0](p[0]) == 84);
  DECIDE(functions[1](functions[0](p[1])) > 100);
  DECIDE(collatz(p[2], 5) == 10);
  DECIDE(p[3] / (p[4] | 1) == 9);
  DECIDE(p[5] % 10 == 3);
}

static void varint(const u8 *p) {
  u64 value = 0;
  int i = 0;
  for (; i < 5; i++) {
    value |= (u64)(p[i] & 0x7f) << 7 * i;
    if (p[i] < 0x80) break;
  }
  DECIDE(value == 300);
  DECIDE((value >> 1 ^ -(value & 1)) == 150);
}

static void choose(const u8 *p) {
  u32 least = p[0] < p[1] ? p[0] : p[1];
  u32 most = p[2] > p[3] ? p[2] : p[3];
  DECIDE(least == 9);
  DECIDE(most == 250);
  u32 level = p[4] > 64;
  level += p[5] > 64;
  level += p[6] > 64;
  DECIDE(level == 3);
}

static u8 heap[64];

// Where a byte is written depends on one byte, what is written on another.
static void places(const u8 *p) {
  for (int i = 0; i < 64; i++) heap[i] = 0;
  for (int i = 0; i < 8; i++) heap[8 + i] = p[i];
  DECIDE(heap[8] == 5);
  DECIDE(heap[12] + heap[13] == 100);
  DECIDE(heap[20] == 0);
  u64 copy;
  __builtin_memcpy(&copy, heap + 8, 8);
  __builtin_memcpy(heap + 33, &copy, 8);
  DECIDE(heap[35] == 7);
  DECIDE(__builtin_bswap32((u32)copy) >> 24 == 8);
  DECIDE((u8)(copy >> 56) == 9);
}

static void base64(const u8 *p) {
  u32 value = 0;
  for (int i = 0; i < 4; i++) {
    u8 c = p[i];
    u32 six = c >= 'a' ? c - 'a' + 26 : c >= 'A' ? c - 'A' : c >= '0' ? c - '0' + 52 : 62;
    value = value << 6 | (six & 63);
  }
  u8 out[3] = {value >> 16, value >> 8, value};
  DECIDE(out[0] == 'h');
  DECIDE(out[1] == 'i');
  DECIDE(out[2] == '!');
}

static void floats(const u8 *p) {
  float single;
  double twice;
  __builtin_memcpy(&single, p, 4);
  __builtin_memcpy(&twice, p + 4, 8);
  DECIDE(single > 1.0f);
  DECIDE(twice < 0);
  u64 image;
  __builtin_memcpy(&image, &twice, 8);
  DECIDE((image >> 48 & 0x7fff) == 0x3ff0);
  float sum = (float)(p[12] + p[13]) * 0.5f;
  DECIDE(sum > 70.0f);
}

__attribute__((export_name("LLVMFuzzerTestOneInput"))) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  if (size < 25) return -1;
  const u8 *p = data + 1;
  switch (data[0]) {
  case 0: bits(p); break;
  case 1: casts(p); break;
  case 2: match(p); break;
  case 3: hash(p); break;
  case 4: decimal(p); break;
  case 5: table(p); break;
  case 6: sort(p); break;
  case 7: structs(p); break;
  case 8: text(p); break;
  case 9: calls(p); break;
  case 10: varint(p); break;
  case 11: choose(p); break;
  case 12: places(p); break;
  case 13: base64(p); break;
  case 14: floats(p); break;
  }
  return 0;
}

// What `__builtin_` functions become where they are not expanded.
void *memcpy(void *to, const void *from, u32 count) {
  for (u32 i = 0; i < count; i++) ((u8 *)to)[i] = ((const u8 *)from)[i];
  return to;
}

void *memset(void *to, int value, u32 count) {
  for (u32 i = 0; i < count; i++) ((u8 *)to)[i] = value;
  return to;
}
