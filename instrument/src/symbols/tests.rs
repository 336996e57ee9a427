//! Tests on small modules with debug information written by hand.

use super::*;
use crate::printable::PRINTABLE_CHARS;

const PLAIN: &str = r#"(module
    (import "env" "log" (func))
    (func $first (export "one") (param i32) (result i32) local.get 0 i32.const 1 i32.add)
    (func (export "two") nop nop nop)
    (func nop)
    (func $"\1b[31mred" nop))"#;

fn wasm(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("test module")
}

#[test]
fn names_come_from_section_export_import_and_number() {
    let symbols = Symbols::new(&wasm(PLAIN));
    let names: Vec<String> = (0..6).map(|index| symbols.function_name(index)).collect();
    assert_eq!(
        names,
        [
            "env.log",
            "first",
            "two",
            "func[3]",
            "\\u{1b}[31mred",
            "func[5]"
        ]
    );
    assert_eq!(symbols.debug_info(), DebugInfo::NamesOnly);
}

#[test]
fn offsets_find_their_function() {
    let symbols = Symbols::new(&wasm(PLAIN));
    let range = symbols.function_range(2).expect("defined");
    assert_eq!(symbols.function_range(0), None, "an import has no body");
    assert_eq!(symbols.function_at(range.start), Some(range));
    assert_eq!(symbols.function_at(range.end - 1), Some(range));
    // The next body's size lies between the two.
    assert_eq!(symbols.function_at(range.end), None);
    assert_eq!(symbols.function_at(0), None);
    assert_eq!(symbols.function_at(u32::MAX), None);
    let frames = symbols.frames(range.start + 1);
    assert_eq!(frames.len(), 1);
    assert_eq!(
        (
            frames[0].function.as_str(),
            frames[0].line,
            frames[0].func_index
        ),
        ("two", None, 2)
    );
    assert!(symbols.frames(0).is_empty());
    assert_eq!(symbols.frames_of(1)[0].function, "first");
}

#[test]
fn bytes_that_are_no_module_have_no_symbols() {
    for bytes in [&b""[..], b"\0asm", b"not wasm", &[0xff; 100]] {
        let symbols = Symbols::new(bytes);
        assert!(symbols.frames(8).is_empty());
        assert_eq!(symbols.function_name(7), "func[7]");
        assert_eq!(symbols.debug_info(), DebugInfo::None);
    }
}

#[test]
fn a_file_beside_it_is_named() {
    let text = "(module (@custom \"external_debug_info\" \"\\07a.\\1bwasm\"))";
    let external = Symbols::new(&wasm(text)).debug_info();
    assert_eq!(external, DebugInfo::External("a.\\u{1b}wasm".to_string()));
}

/// A function of twelve `nop`s with this debug information. Its body starts at address 2 of the code section's contents
/// (a count and a size) with a byte of local declarations; the operators are at 3 to 14, the `end` at 15.
fn with_dwarf(info: &[u8], abbreviations: &[u8], lines: &[u8]) -> Vec<u8> {
    let escaped = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("\\{byte:02x}"))
            .collect::<String>()
    };
    wasm(&format!(
        r#"(module (func (export "f") {}) (@custom ".debug_info" "{}") (@custom ".debug_abbrev" "{}")
            (@custom ".debug_line" "{}"))"#,
        "nop ".repeat(12),
        escaped(info),
        escaped(abbreviations),
        escaped(lines)
    ))
}

/// A root over everything; a function `outer` over addresses 2 to 16, into which `middle` is inlined at 6..12 (called in
/// line 20), into which `inner` is inlined at 8..10 (called in line 30, column 7).
fn info(function_start: u32) -> (Vec<u8>, Vec<u8>) {
    let abbreviations = [
        // 1: unit: language, stmt_list, low_pc, high_pc, comp_dir
        &[
            1, 0x11, 1, 0x13, 0x05, 0x10, 0x17, 0x11, 0x01, 0x12, 0x06, 0x1b, 0x08, 0, 0,
        ][..],
        // 2: abstract function: name
        &[2, 0x2e, 0, 0x03, 0x08, 0, 0],
        // 3: function: name, low_pc, high_pc
        &[3, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0],
        // 4: inlined: origin, low_pc, high_pc, call_file, call_line, call_column
        &[
            4, 0x1d, 1, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0x58, 0x0b, 0x59, 0x0b, 0x57, 0x0b, 0,
            0,
        ],
        // 5: a lexical block around them
        &[5, 0x0b, 1, 0, 0],
        &[0],
    ]
    .concat();
    let word = |value: u32| value.to_le_bytes();
    let mut entries = Vec::new();
    let at = |entries: &Vec<u8>| (entries.len() + 11) as u32;
    entries.extend([1, 0x0c, 0, 0, 0, 0, 0]);
    entries.extend([word(function_start), word(16 - 2)].concat());
    entries.extend(b"/src\0");
    let inner = at(&entries);
    entries.extend(b"\x02_ZN3lib5innerEv\0");
    let middle = at(&entries);
    entries.extend(b"\x02middle\0");
    entries.extend(b"\x03outer\0");
    entries.extend([word(function_start), word(16 - 2)].concat());
    entries.push(5);
    entries.extend([&[4][..], &word(middle), &word(6), &word(6), &[1, 20, 0]].concat());
    entries.extend([&[4][..], &word(inner), &word(8), &word(2), &[2, 30, 7]].concat());
    entries.extend([0, 0, 0, 0, 0]);
    let mut unit = word(entries.len() as u32 + 7).to_vec();
    unit.extend([4, 0, 0, 0, 0, 0, 4]);
    unit.extend(entries);
    (unit, abbreviations)
}

/// Lines: 10 at 2, none at 4, 40 at 8 (file 2), none at 9, 12 at 12, end at `end`.
fn lines(start: u32, end: u8) -> Vec<u8> {
    let mut header = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
    header.extend(b"/abs\0\0");
    header.extend(b"a.c\0\0\0\0");
    header.extend(b"b.\x1bh\0\x01\0\0\0");
    let mut program = vec![0, 5, 2];
    program.extend(start.to_le_bytes());
    // advance_line n, copy; advance_pc n, set_file n
    program.extend([3, 9, 1]);
    program.extend([2, 2, 3, 0x76, 1]);
    program.extend([2, 4, 4, 2, 5, 3, 3, 40, 1]);
    program.extend([2, 1, 3, 0x58, 1]);
    program.extend([2, 3, 4, 1, 3, 12, 1]);
    program.extend([2, end - 12, 0, 1, 1]);
    let mut bytes = ((2 + 4 + header.len() + program.len()) as u32)
        .to_le_bytes()
        .to_vec();
    bytes.extend([4, 0]);
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header);
    bytes.extend(program);
    bytes
}

fn symbols(start: u32) -> (Symbols, u32) {
    let (info, abbreviations) = info(start);
    let symbols = Symbols::new(&with_dwarf(&info, &abbreviations, &lines(start, 16)));
    let code = symbols.layout.code_start;
    (symbols, code)
}

/// Function, file and line of each frame at an address.
fn at(symbols: &Symbols, code: u32, address: u32) -> Vec<(String, String, u32)> {
    let frames = symbols.frames(code + address).into_iter();
    frames
        .map(|f| (f.function, f.file.unwrap_or_default(), f.line.unwrap_or(0)))
        .collect()
}

fn frame(function: &str, file: &str, line: u32) -> (String, String, u32) {
    (function.to_string(), file.to_string(), line)
}

#[test]
fn inlined_functions_come_innermost_first() {
    let (symbols, code) = symbols(2);
    assert_eq!(symbols.debug_info(), DebugInfo::Dwarf);
    assert_eq!(
        symbols.function_range(0).map(|range| range.start - code),
        Some(2)
    );
    assert_eq!(at(&symbols, code, 2), [frame("outer", "/src/a.c", 10)]);
    assert_eq!(
        at(&symbols, code, 8),
        [
            // The linker's name, demangled; a file in a directory of its own; escapes shown.
            frame("lib::inner()", "/abs/b.\\u{1b}h", 40),
            frame("middle", "/abs/b.\\u{1b}h", 30),
            frame("outer", "/src/a.c", 20),
        ]
    );
    let frames = symbols.frames(code + 8);
    assert_eq!(
        frames.iter().map(|frame| frame.inlined).collect::<Vec<_>>(),
        [true, true, false]
    );
    assert_eq!(
        (frames[0].column, frames[1].column, frames[2].column),
        (Some(3), Some(7), None)
    );
    assert_eq!(frames[0].raw_name, "_ZN3lib5innerEv");
    assert_eq!(at(&symbols, code, 12), [frame("outer", "/src/a.c", 12)]);
}

#[test]
fn line_0_takes_the_nearest_row_of_the_same_function() {
    let (symbols, code) = symbols(2);
    // 4 to 7 have no line. Outside of an inlined call, the row before counts.
    assert_eq!(at(&symbols, code, 5), [frame("outer", "/src/a.c", 10)]);
    // Inside of it, the row after that is also inside.
    assert_eq!(
        at(&symbols, code, 7)[0],
        frame("middle", "/abs/b.\\u{1b}h", 40)
    );
    assert_eq!(
        at(&symbols, code, 9)[0],
        frame("lib::inner()", "/abs/b.\\u{1b}h", 40)
    );
}

#[test]
fn lines_of_a_function_are_listed() {
    let (symbols, code) = symbols(2);
    let rows: Vec<(u32, String, u32)> = symbols
        .lines_of_function(0)
        .into_iter()
        .map(|row| (row.offset - code, row.file.to_string(), row.line))
        .collect();
    let row = |offset: u32, file: &str, line: u32| (offset, file.to_string(), line);
    assert_eq!(
        rows,
        [
            row(2, "/src/a.c", 10),
            row(8, "/abs/b.\\u{1b}h", 40),
            row(12, "/src/a.c", 12)
        ]
    );
    assert!(symbols.lines_of_function(1).is_empty());
}

#[test]
fn dead_code_names_nothing() {
    // Linkers leave functions that they dropped at 0 or at a tombstone.
    for start in [0, u32::MAX, u32::MAX - 1, 0xffff_fff0, 1000] {
        let (symbols, code) = symbols(start);
        assert_eq!(at(&symbols, code, 8), [frame("f", "", 0)], "{start:#x}");
        assert!(symbols.lines_of_function(0).is_empty());
    }
}

#[test]
fn every_changed_byte_gives_an_answer() {
    let (info, abbreviations) = info(2);
    let program = lines(2, 16);
    let tables = [info, abbreviations, program];
    for table in 0..3 {
        for position in 0..tables[table].len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut spoiled = tables.clone();
                spoiled[table][position] = value;
                let symbols = Symbols::new(&with_dwarf(&spoiled[0], &spoiled[1], &spoiled[2]));
                for address in [2, 7, 8, 15] {
                    for frame in symbols.frames(symbols.layout.code_start + address) {
                        assert!(frame.function.chars().count() <= PRINTABLE_CHARS + 1);
                        assert!(!frame.function.chars().any(char::is_control));
                    }
                }
                let _ = symbols.lines_of_function(0);
            }
        }
    }
}

#[test]
fn the_cache_changes_no_answer() {
    let (first, code) = symbols(2);
    let expected = first.frames(code + 8);
    assert_eq!(first.frames(code + 8), expected);
    let (second, _) = symbols(2);
    second.lines_of_function(0);
    assert_eq!(second.frames(code + 8), expected);
    let shared = &first;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(shared.frames(code + 8), expected));
        }
    });
}
