//! For the handler `rust-lambda-resize`: an event, objects and items.

use sandglass_generators::lambda;

sandglass_sdk::generator!(lambda::resize);
