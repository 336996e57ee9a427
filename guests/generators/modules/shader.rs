//! WGSL shaders.

use sandglass_generators::shader;

sandglass_sdk::generator!(shader::shader);
