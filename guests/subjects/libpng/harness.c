// libpng: decodes an image of at most 256 x 256 to 8-bit RGBA; checksums of chunks are not enforced.
#include "harness.h"
#include "png.h"
#include <stdlib.h>
#include <string.h>

struct input {
  const uint8_t *data;
  size_t size;
};

static void take(png_structp png, png_bytep out, png_size_t count) {
  struct input *in = png_get_io_ptr(png);
  if (count > in->size) png_error(png, "end of input");
  memcpy(out, in->data, count);
  in->data += count, in->size -= count;
}
static void quiet(png_structp png, png_const_charp message) { (void)png, (void)message; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct input in = {data, size};
  if (size < 8 || png_sig_cmp((png_bytep)data, 0, 8)) return REJECT;
  uint8_t *volatile row = 0;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, 0, 0, quiet);
  png_infop info = png_create_info_struct(png);
  if (setjmp(png_jmpbuf(png))) {
    free(row);
    png_destroy_read_struct(&png, &info, 0);
    return REJECT;
  }
  png_set_crc_action(png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
  png_set_user_limits(png, 256, 256);
  png_set_read_fn(png, &in, take);
  png_read_info(png, info);
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  row = malloc(png_get_rowbytes(png, info));
  for (int pass = 0; pass < passes; pass++)
    for (uint32_t y = 0; y < png_get_image_height(png, info); y++) png_read_row(png, row, 0);
  png_read_end(png, info);
  free(row);
  png_destroy_read_struct(&png, &info, 0);
  return ACCEPT;
}
