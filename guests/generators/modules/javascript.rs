//! JavaScript programs in Zest's shape.

use sandglass_generators::javascript;

sandglass_sdk::generator!(|| javascript::program(javascript::ZEST));
