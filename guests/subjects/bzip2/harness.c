// bzip2: decompresses a stream, at most 256 KiB of output. SlowFuzz's subject: a header of a few bytes can ask for much work.
#include "harness.h"
#include "bzlib.h"
#include <string.h>

// The library's assertions come here, without stdio.
void bz_internal_error(int code) {
  (void)code;
  __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char out[4096];
  bz_stream stream;
  memset(&stream, 0, sizeof stream);
  if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) return REJECT;
  stream.next_in = (char *)data;
  stream.avail_in = (unsigned)size;
  int status;
  do {
    stream.next_out = out;
    stream.avail_out = sizeof out;
    status = BZ2_bzDecompress(&stream);
  } while (status == BZ_OK && stream.avail_out == 0 && stream.total_out_lo32 < 256 << 10);
  BZ2_bzDecompressEnd(&stream);
  return status == BZ_STREAM_END ? ACCEPT : REJECT;
}
