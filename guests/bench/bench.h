// What every measured program shares: the input begins with a decimal number, the rounds of work, and a newline.
// The answer is 0; `checksum` tells what was computed, so that two builds can be compared by it.
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#define EXPORT(name) __attribute__((export_name(#name)))

static u64 checksum_value;
EXPORT(checksum) u64 checksum(void) { return checksum_value; }

static void mix(u64 x) { checksum_value = (checksum_value ^ x) * 0x100000001b3ull; }

static u32 rounds(const u8 **data, u32 *size) {
  u32 n = 0;
  while (*size && **data != '\n') n = n * 10 + (*(*data)++ - '0'), --*size;
  if (*size) ++*data, --*size;
  return n;
}
