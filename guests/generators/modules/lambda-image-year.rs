//! For the handler `rust-lambda-image-year`: an event, objects and items.

use sandglass_generators::lambda;

sandglass_sdk::generator!(lambda::image_year);
