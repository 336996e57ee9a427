//! RLCheck's study as a property: valid is a tree that is ordered. The text says which tree it was.

use sandglass_generators::bst;

sandglass_sdk::property!(|| {
    let tree = bst::tree();
    sandglass_sdk::emit(tree.to_text());
    tree.is_ordered().then_some(())
});
