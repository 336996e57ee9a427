//! For the handler `rust-lambda-survey`: an event, objects and items.

use sandglass_generators::lambda;

sandglass_sdk::generator!(lambda::survey);
