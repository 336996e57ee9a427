// What every C and C++ harness shares.
//
// ACCEPT and REJECT are what LLVMFuzzerTestOneInput returns. libFuzzer (since LLVM 15) drops an input that is answered
// with -1 from its corpus, and older ones drop any non-zero answer; so native builds accept everything, or the two
// fuzzers would not do the same work.
//
// SANDGLASS is set for wasm: the host starts every run from one snapshot, so nothing needs to be taken down again.
#ifndef HARNESS_H
#define HARNESS_H
#include <stddef.h>
#include <stdint.h>
#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#else
#define EXPORT(name)
#endif
#ifdef __cplusplus
#define HARNESS extern "C"
extern "C" {
#else
#define HARNESS
#endif
EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
EXPORT(LLVMFuzzerInitialize) int LLVMFuzzerInitialize(int *argc, char ***argv);
#ifdef __cplusplus
}
#endif
#define ACCEPT 0
#ifdef SANDGLASS
#define REJECT (-1)
#else
#define REJECT 0
#endif
#endif
