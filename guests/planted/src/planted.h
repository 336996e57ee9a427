// What every planted fault in C shares: types, the export, and the fault itself.
#ifndef PLANTED_H
#define PLANTED_H
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
#define VALID 0
#define INVALID (-1)
#define FAULT() __builtin_trap()
#define TARGET __attribute__((export_name("LLVMFuzzerTestOneInput"))) int LLVMFuzzerTestOneInput
static inline u32 be16(const u8 *p) { return (u32)p[0] << 8 | p[1]; }
static inline u32 le16(const u8 *p) { return (u32)p[1] << 8 | p[0]; }
static inline u32 be32(const u8 *p) { return be16(p) << 16 | be16(p + 2); }
static inline u32 le32(const u8 *p) { return le16(p + 2) << 16 | le16(p); }
#endif
