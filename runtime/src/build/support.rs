//! The library that takes libFuzzer's place when a cargo-fuzz project is linked.
//!
//! `libfuzzer-sys` compiles libFuzzer's C++ unless `CUSTOM_LIBFUZZER_PATH` names
//! a static library. Ours has two members, in WebAssembly's object format
//! (tool-conventions, Linking.md, version 2):
//!
//! - `LLVMFuzzerMutate(data, size, max_size)`, which a custom mutator calls for
//!   a mutation of libFuzzer's. The host mutates, so that here the bytes stay
//!   what they are.
//! - `_initialize`, which runs static constructors. A cargo-fuzz target is
//!   linked as a program, whose `_start` would run them and then miss `main`.

use std::borrow::Cow;

use wasm_encoder::{
    CodeSection, CustomSection, EntityType, Function, FunctionSection, ImportSection,
    LinkingSection, Module, SymbolTable, TypeSection, ValType,
};

/// The name of the archive's file; linkers take `lib` and `.a` off.
pub const ARCHIVE_NAME: &str = "libsandglass_fuzzer.a";

/// A symbol that another object or the linker defines.
const UNDEFINED: u32 = SymbolTable::WASM_SYM_UNDEFINED;
/// `R_WASM_FUNCTION_INDEX_LEB`
const RELOCATE_FUNCTION: u8 = 0;

/// The archive, in the format of `ar`; `handlers` is an object of what checks of undefined behaviour call.
pub fn archive(handlers: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    let handlers = handlers.map(|object| ("undefined.o/", object.to_vec()));
    let members = [("mutate.o/", mutate()), ("init.o/", initialize())];
    for (name, member) in members.into_iter().chain(handlers) {
        // Name, time, owner, group, mode, size: text, padded with blanks.
        let header = format!(
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            0,
            644,
            member.len()
        );
        bytes.extend(header.into_bytes());
        bytes.extend(&member);
        if member.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

/// The object file with `LLVMFuzzerMutate`.
///
/// ```wat
/// (func $LLVMFuzzerMutate (param i32 i32 i32) (result i32) (local.get 1))
/// ```
pub fn mutate() -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32; 3], [ValType::I32]);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut body = Function::new([]);
    body.instructions().local_get(1).end();
    let mut code = CodeSection::new();
    code.function(&body);
    let mut symbols = SymbolTable::new();
    symbols.function(0, 0, Some("LLVMFuzzerMutate"));
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&code);
    module.section(LinkingSection::new().symbol_table(&symbols));
    module.finish()
}

/// The object file with `_initialize`.
///
/// ```wat
/// (func $_initialize (call $__wasm_call_ctors))
/// ```
fn initialize() -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut imports = ImportSection::new();
    imports.import("env", "__wasm_call_ctors", EntityType::Function(0));
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut body = Function::new([]);
    // `call 0`, its operand as wide as any index: the linker overwrites it.
    body.raw([0x10, 0x80, 0x80, 0x80, 0x80, 0x00]);
    body.instructions().end();
    let mut code = CodeSection::new();
    code.function(&body);
    let mut symbols = SymbolTable::new();
    symbols.function(UNDEFINED, 0, None);
    symbols.function(0, 1, Some("_initialize"));
    // One relocation in section 3 (types, imports, functions, code), 4 bytes
    // into its content: after the count, the body's size, its locals and the
    // opcode. It refers to symbol 0.
    let relocations = CustomSection {
        name: Cow::Borrowed("reloc.CODE"),
        data: Cow::Borrowed(&[3, 1, RELOCATE_FUNCTION, 4, 0]),
    };
    let mut module = Module::new();
    module.section(&types).section(&imports);
    module.section(&functions).section(&code);
    module.section(LinkingSection::new().symbol_table(&symbols));
    module.section(&relocations);
    module.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::object::Object;

    #[test]
    fn the_members_define_what_they_should() {
        let mutate = Object::parse(&mutate()).expect("an object");
        assert!(mutate.defines("LLVMFuzzerMutate"));
        let initialize = Object::parse(&initialize()).expect("an object");
        assert!(initialize.defines("_initialize"));
        assert!(initialize.needs("__wasm_call_ctors"));
    }

    #[test]
    fn members_of_the_archive_begin_at_even_places() {
        let archive = archive(Some(&mutate()));
        let mut at = 8;
        let mut members = 0;
        while at < archive.len() {
            assert_eq!(at % 2, 0);
            assert_eq!(&archive[at + 58..at + 60], b"`\n");
            let size = std::str::from_utf8(&archive[at + 48..at + 58]).expect("text");
            let size: usize = size.trim().parse().expect("a number");
            assert_eq!(&archive[at + 60..at + 64], b"\0asm");
            at += 60 + size.next_multiple_of(2);
            members += 1;
        }
        assert_eq!((members, at), (3, archive.len()));
    }
}
