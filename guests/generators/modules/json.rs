//! JSON texts.

use sandglass_generators::json;

sandglass_sdk::generator!(json::text);
