// zlib: inflates a gzip stream that comes in pieces of 16 bytes, and keeps up to 32 bytes of its header's extra field.
#include "harness.h"
#include "zlib.h"
#include <stdlib.h>
#include <string.h>

enum { PIECE = 16, EXTRA = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint8_t out[4096];
  z_stream stream;
  gz_header header;
  memset(&stream, 0, sizeof stream);
  memset(&header, 0, sizeof header);
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return REJECT;
  header.extra = malloc(EXTRA);
  header.extra_max = EXTRA;
  inflateGetHeader(&stream, &header);
  int status = Z_OK;
  for (size_t at = 0; at < size && status == Z_OK && stream.total_out < 256 << 10; at += PIECE) {
    stream.next_in = (Bytef *)data + at;
    stream.avail_in = (uInt)(size - at < PIECE ? size - at : PIECE);
    do {
      stream.next_out = out;
      stream.avail_out = sizeof out;
      status = inflate(&stream, Z_NO_FLUSH);
    } while (status == Z_OK && stream.avail_in > 0);
  }
  free(header.extra);
  inflateEnd(&stream);
  return status == Z_STREAM_END ? ACCEPT : REJECT;
}
