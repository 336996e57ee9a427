//! For the handler `rust-lambda-lookup`: an event, objects and items.

use sandglass_generators::lambda;

sandglass_sdk::generator!(lambda::lookup);
