//! For the handler `rust-lambda-csv-load`: an event, objects and items.

use sandglass_generators::lambda;

sandglass_sdk::generator!(lambda::csv_load);
