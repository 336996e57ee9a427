//! For the handler `rust-lambda-history`: an event, objects and items.

use sandglass_generators::lambda;

sandglass_sdk::generator!(lambda::history);
