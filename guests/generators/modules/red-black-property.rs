//! Trees that may be red-black trees, as a property. The text says which tree it was.

use sandglass_generators::red_black;

sandglass_sdk::property!(|| {
    let tree = red_black::tree();
    sandglass_sdk::emit(tree.to_text());
    tree.is_balanced().then_some(())
});
