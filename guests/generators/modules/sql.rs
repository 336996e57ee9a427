//! SQL scripts over a fixed schema.

use sandglass_generators::sql;

sandglass_sdk::generator!(sql::script);
