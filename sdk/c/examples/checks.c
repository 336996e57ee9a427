// A property with several faults in one function: each is a finding of its own line. The file is C and C++.
#include "../sandglass.h"

SG_PROPERTY {
  int64_t first = sg_int(SG_VALUE, -1000, 1000);
  SG_CHECK(first != 7);
  int64_t second = sg_int(SG_VALUE, -1000, 1000);
  SG_CHECK(second <= 900);
  if (first < -900) SG_FAIL();
  if (first + second == 1234) SG_FAIL();
  return SG_VALID;
}
