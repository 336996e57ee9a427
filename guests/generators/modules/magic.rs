//! Records with twenty values that somebody compares with constants.

use sandglass_generators::magic;

sandglass_sdk::generator!(magic::record);
