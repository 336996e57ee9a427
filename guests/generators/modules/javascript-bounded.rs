//! JavaScript programs in RLCheck's and BeDivFuzz's shape.

use sandglass_generators::javascript;

sandglass_sdk::generator!(|| javascript::program(javascript::BOUNDED));
