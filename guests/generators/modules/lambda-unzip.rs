//! For the handler `rust-lambda-unzip`: an event, objects and items.

use sandglass_generators::lambda;

sandglass_sdk::generator!(lambda::unzip);
