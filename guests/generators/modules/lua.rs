//! Lua chunks.

use sandglass_generators::lua;

sandglass_sdk::generator!(lua::chunk);
