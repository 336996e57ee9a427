//! A hash table with a planted bug, as a property.

sandglass_sdk::property!(sandglass_generators::hash_table::agrees_with_a_list);
