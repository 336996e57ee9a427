// Inflates a raw deflate stream (RFC 1951), canonical Huffman codes decoded bit by bit, as in Mark Adler's puff.
#include "bench.h"

static u8 out[1 << 18];
static u32 out_count;
static const u8 *in, *in_end;
static u32 bit_buffer, bit_count;
static int bad;

struct code {
  unsigned short count[16], symbol[288];
};

static u32 bits(u32 need) {
  u32 value = bit_buffer;
  while (bit_count < need) {
    if (in == in_end) return bad = 1, 0;
    value |= (u32)*in++ << bit_count;
    bit_count += 8;
  }
  bit_buffer = value >> need;
  bit_count -= need;
  return value & ((1u << need) - 1);
}

static u32 decode(const struct code *h) {
  int code = 0, first = 0, index = 0;
  for (int length = 1; length <= 15 && !bad; length++) {
    code |= (int)bits(1);
    int count = h->count[length];
    if (code - count < first) return h->symbol[index + (code - first)];
    index += count;
    first = (first + count) << 1;
    code <<= 1;
  }
  bad = 1;
  return 0;
}

static void construct(struct code *h, const u8 *length, int n) {
  unsigned short offset[16];
  for (int i = 0; i < 16; i++) h->count[i] = 0;
  for (int i = 0; i < n; i++) h->count[length[i]]++;
  offset[1] = 0;
  for (int i = 1; i < 15; i++) offset[i + 1] = offset[i] + h->count[i];
  for (int i = 0; i < n; i++)
    if (length[i]) h->symbol[offset[length[i]]++] = (unsigned short)i;
}

static void codes(const struct code *lengths, const struct code *distances) {
  static const unsigned short base[29] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static const u8 extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
  static const unsigned short far[30] = {1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
  static const u8 far_extra[30] = {0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
  while (!bad) {
    u32 symbol = decode(lengths);
    if (symbol < 256) {
      if (out_count == sizeof out) { bad = 1; return; }
      out[out_count++] = (u8)symbol;
    } else if (symbol == 256) {
      return;
    } else {
      if ((symbol -= 257) >= 29) { bad = 1; return; }
      u32 length = base[symbol] + bits(extra[symbol]);
      symbol = decode(distances);
      if (symbol >= 30) { bad = 1; return; }
      u32 distance = far[symbol] + bits(far_extra[symbol]);
      if (distance > out_count || out_count + length > sizeof out) { bad = 1; return; }
      for (; length; length--, out_count++) out[out_count] = out[out_count - distance];
    }
  }
}

static void fixed(void) {
  static struct code lengths, distances;
  u8 length[288];
  for (int i = 0; i < 288; i++) length[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  construct(&lengths, length, 288);
  for (int i = 0; i < 30; i++) length[i] = 5;
  construct(&distances, length, 30);
  codes(&lengths, &distances);
}

static void dynamic(void) {
  static const u8 order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  static struct code lengths, distances;
  u8 length[320];
  int literals = (int)bits(5) + 257, far = (int)bits(5) + 1, count = (int)bits(4) + 4, i = 0;
  if (literals > 286 || far > 30) { bad = 1; return; }
  for (; i < count; i++) length[order[i]] = (u8)bits(3);
  for (; i < 19; i++) length[order[i]] = 0;
  construct(&lengths, length, 19);
  for (i = 0; i < literals + far && !bad;) {
    u32 symbol = decode(&lengths), last = 0, repeat;
    if (symbol < 16) { length[i++] = (u8)symbol; continue; }
    if (symbol == 16) {
      if (i == 0) { bad = 1; return; }
      last = length[i - 1];
      repeat = 3 + bits(2);
    } else {
      repeat = symbol == 17 ? 3 + bits(3) : 11 + bits(7);
    }
    if (i + (int)repeat > literals + far) { bad = 1; return; }
    while (repeat--) length[i++] = (u8)last;
  }
  construct(&lengths, length, literals);
  construct(&distances, length + literals, far);
  codes(&lengths, &distances);
}

static void stored(void) {
  bit_buffer = bit_count = 0;
  if (in_end - in < 4) { bad = 1; return; }
  u32 length = in[0] | (u32)in[1] << 8;
  in += 4;
  if (length > (u32)(in_end - in) || out_count + length > sizeof out) { bad = 1; return; }
  while (length--) out[out_count++] = *in++;
}

EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  u32 n = rounds(&data, &size), last;
  for (u32 i = 0; i < n; i++) {
    in = data, in_end = data + size;
    out_count = bit_buffer = bit_count = 0;
    bad = 0;
    do {
      last = bits(1);
      switch (bits(2)) {
      case 0: stored(); break;
      case 1: fixed(); break;
      case 2: dynamic(); break;
      default: bad = 1;
      }
    } while (!last && !bad);
    if (bad) return -1;
    for (u32 k = 0; k < out_count; k++) mix(out[k]);
  }
  return 0;
}
