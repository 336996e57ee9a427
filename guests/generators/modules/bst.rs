//! RLCheck's study as a generator of trees in text, and the target that checks their order.

use sandglass_generators::bst::{self, Tree};

sandglass_sdk::generator!(|| bst::tree().to_text());

sandglass_sdk::target!(|input: &[u8]| Tree::from_text(input).filter(Tree::is_ordered).map(drop));
