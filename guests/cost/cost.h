// What the small programs with known worst cases share: one input, one answer, nothing kept.
typedef unsigned char u8;
typedef unsigned int u32;
#define EXPORT(name) __attribute__((export_name(#name)))
enum { INPUT_MAX = 1 << 16 };
