#include "mean.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return mean({reinterpret_cast<const char *>(data), size}) ? 0 : -1;
}
