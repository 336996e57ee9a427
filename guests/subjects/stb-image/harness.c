// stb_image: decodes any of its formats, at most 512 x 512.
#include "harness.h"
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_STDIO
#define STBI_NO_SIMD
#define STBI_NO_THREAD_LOCALS
#include "stb_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int x, y, channels;
  if (size > 1 << 20 || !stbi_info_from_memory(data, (int)size, &x, &y, &channels)) return REJECT;
  if (x > 512 || y > 512) return REJECT;
  stbi_uc *pixels = stbi_load_from_memory(data, (int)size, &x, &y, &channels, 4);
  if (!pixels) return REJECT;
  stbi_image_free(pixels);
  return ACCEPT;
}
