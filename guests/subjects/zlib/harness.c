// zlib: inflates a zlib or gzip stream, at most 256 KiB of output.
#include "harness.h"
#include "zlib.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint8_t out[4096];
  z_stream stream;
  memset(&stream, 0, sizeof stream);
  if (inflateInit2(&stream, 15 + 32) != Z_OK) return REJECT;
  stream.next_in = (Bytef *)data;
  stream.avail_in = (uInt)size;
  int status;
  do {
    stream.next_out = out;
    stream.avail_out = sizeof out;
    status = inflate(&stream, Z_NO_FLUSH);
  } while (status == Z_OK && stream.avail_out == 0 && stream.total_out < 256 << 10);
  inflateEnd(&stream);
  return status == Z_STREAM_END ? ACCEPT : REJECT;
}
