//! Working modules with debug information that is broken, endless or a lie. They run as if they had none.

use super::build::{Parts, full, uleb};
use super::{Expect, Hostile};

pub(super) fn all() -> Vec<Hostile> {
    let mut all = dwarf();
    all.extend(line_programs());
    all.extend(names());
    all
}

fn with(name: &str, sections: &[(&str, Vec<u8>)]) -> Hostile {
    let mut parts = full();
    for (section, data) in sections {
        parts.custom(section, data.clone());
    }
    Hostile::new(
        format!("debug-{name}"),
        parts.bytes(),
        Expect::Ends("valid"),
    )
}

// The constants of DWARF that are used below.
const COMPILE_UNIT: u8 = 0x11;
const SUBPROGRAM: u8 = 0x2e;
const INLINED: u8 = 0x1d;
const NAME: u8 = 0x03;
const STMT_LIST: u8 = 0x10;
const LOW_PC: u8 = 0x11;
const HIGH_PC: u8 = 0x12;
const ABSTRACT_ORIGIN: u8 = 0x31;
const RANGES: u8 = 0x55;
const FORM_ADDR: u8 = 0x01;
const FORM_DATA4: u8 = 0x06;
const FORM_STRING: u8 = 0x08;
const FORM_STRP: u8 = 0x0e;
const FORM_REF4: u8 = 0x13;
const FORM_SEC_OFFSET: u8 = 0x17;
const FORM_INDIRECT: u8 = 0x16;
const FORM_IMPLICIT_CONST: u8 = 0x21;

/// Code, tag, has children, (attribute, form)….
type Abbreviation<'a> = (u8, u8, bool, &'a [(u8, u8)]);

/// A table of abbreviations.
fn abbreviations(table: &[Abbreviation<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (code, tag, children, attributes) in table {
        bytes.extend([*code, *tag, u8::from(*children)]);
        for (attribute, form) in *attributes {
            bytes.extend([*attribute, *form]);
        }
        bytes.extend([0, 0]);
    }
    bytes.push(0);
    bytes
}

/// A DWARF 4 unit around these entries.
fn unit(entries: &[u8]) -> Vec<u8> {
    let mut bytes = (entries.len() as u32 + 7).to_le_bytes().to_vec();
    bytes.extend([4, 0, 0, 0, 0, 0, 4]);
    bytes.extend_from_slice(entries);
    bytes
}

/// The attributes of a root that covers all code.
const WHOLE: &[(u8, u8)] = &[(LOW_PC, FORM_ADDR), (HIGH_PC, FORM_DATA4)];

fn whole() -> Vec<u8> {
    let mut bytes = 1u32.to_le_bytes().to_vec();
    bytes.extend(0x1000u32.to_le_bytes());
    bytes
}

/// The offset of the first entry of [`unit`].
const ROOT: u32 = 11;

fn dwarf() -> Vec<Hostile> {
    let simple = abbreviations(&[(1, COMPILE_UNIT, false, WHOLE)]);
    let mut root = vec![1];
    root.extend(whole());
    let tree = abbreviations(&[
        (1, COMPILE_UNIT, true, WHOLE),
        (
            2,
            SUBPROGRAM,
            true,
            &[
                (LOW_PC, FORM_ADDR),
                (HIGH_PC, FORM_DATA4),
                (ABSTRACT_ORIGIN, FORM_REF4),
            ],
        ),
        (
            3,
            INLINED,
            true,
            &[
                (ABSTRACT_ORIGIN, FORM_REF4),
                (LOW_PC, FORM_ADDR),
                (HIGH_PC, FORM_DATA4),
            ],
        ),
    ]);
    let entry = |code: u8, origin: u32| {
        let mut bytes = vec![code];
        if code == 2 {
            bytes.extend(whole());
            bytes.extend(origin.to_le_bytes());
        } else {
            bytes.extend(origin.to_le_bytes());
            bytes.extend(whole());
        }
        bytes
    };
    // A function whose origin is itself.
    let mut cyclic = root.clone();
    cyclic.extend(entry(2, ROOT + root.len() as u32));
    cyclic.extend([0, 0]);
    // Two that point at one another.
    let mut pair = root.clone();
    let first = ROOT + root.len() as u32;
    pair.extend(entry(2, first + 14));
    pair.push(0);
    pair.extend(entry(2, first));
    pair.extend([0, 0]);
    // Inlined into itself a hundred thousand times, never closed.
    let mut deep = root.clone();
    deep.extend(entry(2, first));
    for _ in 0..100_000 {
        deep.extend(entry(3, first));
    }
    // A million entries of an abbreviation with a thousand attributes that take no bytes.
    let mut zero_size = vec![1, COMPILE_UNIT, 1];
    zero_size.extend(WHOLE.iter().flat_map(|(name, form)| [*name, *form]));
    zero_size.extend([0, 0, 2, SUBPROGRAM, 0]);
    for _ in 0..1000 {
        zero_size.extend([0x3a, FORM_IMPLICIT_CONST, 1]);
    }
    zero_size.extend([0, 0, 0]);
    let mut many = root.clone();
    many.extend(vec![2; 1_000_000]);
    // A chain of indirect forms.
    let indirect = abbreviations(&[(1, COMPILE_UNIT, false, &[(NAME, FORM_INDIRECT)])]);
    let mut chain = vec![1];
    chain.extend(vec![FORM_INDIRECT; 1_000_000]);
    // Half a million units of one empty entry each.
    let empty = abbreviations(&[(1, COMPILE_UNIT, false, &[])]);
    let mut units = Vec::new();
    for _ in 0..500_000 {
        units.extend(unit(&[1]));
    }
    // Ten thousand units that share a megabyte of abbreviations.
    let mut giant = Vec::new();
    for code in 1..200_000u64 {
        giant.extend(uleb(code));
        giant.extend([COMPILE_UNIT, 0, 0, 0]);
    }
    giant.push(0);
    let mut sharing = Vec::new();
    for _ in 0..10_000 {
        sharing.extend(unit(&[1]));
    }
    // A list of ranges that never ends, for each of a hundred thousand functions.
    let ranged = abbreviations(&[
        (1, COMPILE_UNIT, true, WHOLE),
        (2, SUBPROGRAM, false, &[(RANGES, FORM_SEC_OFFSET)]),
    ]);
    let mut with_ranges = root.clone();
    for _ in 0..100_000 {
        with_ranges.extend([2, 0, 0, 0, 0]);
    }
    let mut ranges = Vec::new();
    for _ in 0..500_000 {
        ranges.extend(8u32.to_le_bytes());
        ranges.extend(8u32.to_le_bytes());
    }
    // Names in a string section of a megabyte without an end.
    let named = abbreviations(&[
        (1, COMPILE_UNIT, true, WHOLE),
        (
            2,
            SUBPROGRAM,
            false,
            &[
                (NAME, FORM_STRP),
                (LOW_PC, FORM_ADDR),
                (HIGH_PC, FORM_DATA4),
            ],
        ),
    ]);
    let mut with_names = root.clone();
    for _ in 0..10_000 {
        with_names.extend([2, 0, 0, 0, 0]);
        with_names.extend(whole());
    }
    // An inline name that acts on the terminal.
    let escaped = abbreviations(&[
        (1, COMPILE_UNIT, true, WHOLE),
        (
            2,
            SUBPROGRAM,
            false,
            &[
                (NAME, FORM_STRING),
                (LOW_PC, FORM_ADDR),
                (HIGH_PC, FORM_DATA4),
            ],
        ),
    ]);
    let mut with_escapes = root.clone();
    with_escapes.extend(b"\x02\x1b]0;owned\x07\0");
    with_escapes.extend(whole());
    with_escapes.push(0);
    let spoiled = |at: usize, bytes: &[u8]| {
        let mut info = unit(&root);
        info[at..at + bytes.len()].copy_from_slice(bytes);
        info
    };
    let mut dwarf64 = vec![0xff; 4];
    dwarf64.extend(u64::MAX.to_le_bytes());
    dwarf64.extend([5, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut dead = vec![1];
    dead.extend(0u32.to_le_bytes());
    dead.extend(u32::MAX.to_le_bytes());
    let mut tombstone = vec![1];
    tombstone.extend(u32::MAX.to_le_bytes());
    tombstone.extend(100u32.to_le_bytes());
    let case = |name: &str, info: Vec<u8>, abbrev: &[u8]| {
        with(
            name,
            &[(".debug_info", info), (".debug_abbrev", abbrev.to_vec())],
        )
    };
    vec![
        case("plain", unit(&root), &simple),
        case("empty-info", Vec::new(), &simple),
        case("one-byte", vec![0xff], &simple),
        case("no-abbreviations", unit(&root), &[]),
        case(
            "abbreviations-without-end",
            unit(&root),
            &simple[..simple.len() - 3],
        ),
        case(
            "abbreviation-codes-twice",
            unit(&root),
            &[simple.clone(), simple.clone()].concat(),
        ),
        case("unknown-abbreviation", unit(&[0x7f]), &simple),
        case(
            "unit-length-lies",
            spoiled(0, &u32::MAX.to_le_bytes()),
            &simple,
        ),
        case(
            "unit-length-reserved",
            spoiled(0, &0xffff_fff5u32.to_le_bytes()),
            &simple,
        ),
        case("unit-length-0", spoiled(0, &[0; 4]), &simple),
        case("unit-length-1", spoiled(0, &[1, 0, 0, 0]), &simple),
        case("version-0", spoiled(4, &[0, 0]), &simple),
        case("version-6", spoiled(4, &[6, 0]), &simple),
        case(
            "abbreviations-out-of-range",
            spoiled(6, &u32::MAX.to_le_bytes()),
            &simple,
        ),
        case("address-of-0-bytes", spoiled(10, &[0]), &simple),
        case("address-of-255-bytes", spoiled(10, &[255]), &simple),
        case("address-of-8-bytes", spoiled(10, &[8]), &simple),
        case("dwarf64-of-16-eib", dwarf64, &simple),
        case("origin-is-itself", unit(&cyclic), &tree),
        case("origins-in-a-circle", unit(&pair), &tree),
        case("inlined-100000-deep", unit(&deep), &tree),
        case("attributes-of-no-size", unit(&many), &zero_size),
        case("indirect-forms", unit(&chain), &indirect),
        case("units-500000", units, &empty),
        case("units-sharing-giant-abbreviations", sharing, &giant),
        case("function-at-0", unit(&dead), &simple),
        case("function-at-tombstone", unit(&tombstone), &simple),
        with(
            "ranges-without-end",
            &[
                (".debug_info", unit(&with_ranges)),
                (".debug_abbrev", ranged),
                (".debug_ranges", ranges),
            ],
        ),
        with(
            "strings-without-end",
            &[
                (".debug_info", unit(&with_names)),
                (".debug_abbrev", named),
                (".debug_str", vec![b'a'; 1 << 20]),
            ],
        ),
        case("name-with-escapes", unit(&with_escapes), &escaped),
        with("sections-of-noise", &noise()),
        with(
            "sections-twice",
            &[
                (".debug_info", unit(&root)),
                (".debug_info", vec![0xff; 100]),
                (".debug_abbrev", simple.clone()),
            ],
        ),
    ]
}

/// Every section full of the same pseudo-random bytes.
fn noise() -> Vec<(&'static str, Vec<u8>)> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut bytes = || {
        (0..4096)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            })
            .collect::<Vec<u8>>()
    };
    [
        ".debug_info",
        ".debug_abbrev",
        ".debug_line",
        ".debug_line_str",
        ".debug_str",
        ".debug_str_offsets",
        ".debug_ranges",
        ".debug_rnglists",
        ".debug_addr",
        ".debug_aranges",
        "name",
        "producers",
        "target_features",
        "metadata.code.branch_hint",
        "sourceMappingURL",
        "external_debug_info",
    ]
    .map(|section| (section, bytes()))
    .to_vec()
}

/// A DWARF 4 line program with one directory, one file and these operations.
fn line_program(file: &[u8], operations: &[u8]) -> Vec<u8> {
    let mut header = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
    header.extend(b"dir\0\0");
    header.extend_from_slice(file);
    header.extend([0, 1, 0, 0, 0]);
    wrapped_line_program(4, &[], &header, operations)
}

fn wrapped_line_program(version: u8, extra: &[u8], header: &[u8], operations: &[u8]) -> Vec<u8> {
    let length = 2 + extra.len() + 4 + header.len() + operations.len();
    let mut bytes = (length as u32).to_le_bytes().to_vec();
    bytes.extend([version, 0]);
    bytes.extend_from_slice(extra);
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend_from_slice(header);
    bytes.extend_from_slice(operations);
    bytes
}

fn line_programs() -> Vec<Hostile> {
    let abbrev = abbreviations(&[(
        1,
        COMPILE_UNIT,
        false,
        &[
            (LOW_PC, FORM_ADDR),
            (HIGH_PC, FORM_DATA4),
            (STMT_LIST, FORM_SEC_OFFSET),
        ],
    )]);
    let mut root = vec![1];
    root.extend(whole());
    root.extend([0; 4]);
    let case = |name: &str, line: Vec<u8>| {
        with(
            &format!("lines-{name}"),
            &[
                (".debug_info", unit(&root)),
                (".debug_abbrev", abbrev.clone()),
                (".debug_line", line),
            ],
        )
    };
    let set_address = |address: u32| {
        let mut bytes = vec![0, 5, 2];
        bytes.extend(address.to_le_bytes());
        bytes
    };
    let end = [0, 1, 1];
    let rows = |count: usize| [set_address(1), vec![0x0e + 1; count], end.to_vec()].concat();
    let spoiled = |at: usize, byte: u8| {
        let mut line = line_program(b"a.c", &rows(3));
        line[at] = byte;
        line
    };
    let backwards = [
        set_address(50),
        vec![1],
        set_address(2),
        vec![1],
        end.to_vec(),
    ]
    .concat();
    let tombstones = [set_address(u32::MAX), vec![1, 0x20, 0x20], end.to_vec()].concat();
    let huge_advance = [
        set_address(1),
        vec![
            2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 1,
        ],
        end.to_vec(),
    ]
    .concat();
    let huge_line = [
        set_address(1),
        vec![3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1],
        end.to_vec(),
    ]
    .concat();
    // DWARF 5: no directories, then files whose only form takes a byte, and a count of 2^60.
    let mut files = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
    files.extend([1, 1, 0x0b, 0, 1, 1, 0x0b]);
    files.extend(uleb(1 << 60));
    files.extend(vec![0; 2_000_000]);
    vec![
        case("plain", line_program(b"a.c", &rows(3))),
        case("empty", Vec::new()),
        case("length-lies", spoiled(3, 0x7f)),
        case("header-length-lies", spoiled(9, 0x7f)),
        case("version-1", spoiled(4, 1)),
        case("version-77", spoiled(4, 77)),
        case("minimum-length-0", spoiled(10, 0)),
        case("operations-0", spoiled(11, 0)),
        case("line-range-0", spoiled(14, 0)),
        case("opcode-base-0", spoiled(15, 0)),
        case("opcode-base-255", spoiled(15, 255)),
        case("rows-5-million", line_program(b"a.c", &rows(5_000_000))),
        case(
            "no-rows-5-million",
            line_program(b"a.c", &vec![6; 5_000_000]),
        ),
        case(
            "sequences-million",
            line_program(b"a.c", &end.repeat(1_000_000)),
        ),
        case(
            "files-million",
            line_program(b"a.c", &b"\x00\x04\x03x\0\0\0".repeat(300_000)),
        ),
        case("addresses-backwards", line_program(b"a.c", &backwards)),
        case("addresses-dead", line_program(b"a.c", &tombstones)),
        case(
            "advance-of-2-to-the-64",
            line_program(b"a.c", &huge_advance),
        ),
        case("line-of-2-to-the-62", line_program(b"a.c", &huge_line)),
        case(
            "file-with-escapes",
            line_program(b"\x1b]8;;http://x\x07a.c", &rows(3)),
        ),
        case(
            "file-out-of-the-box",
            line_program(b"../../../../etc/passwd", &rows(3)),
        ),
        case(
            "file-count-2-to-the-60",
            wrapped_line_program(5, &[4, 0], &files, &[]),
        ),
    ]
}

fn names() -> Vec<Hostile> {
    let case = |name: &str, data: Vec<u8>| with(&format!("names-{name}"), &[("name", data)]);
    // Subsection 1: function names.
    let functions = |entries: &[(u32, &[u8])]| {
        let mut map = uleb(entries.len() as u64);
        for (index, text) in entries {
            map.extend(uleb(u64::from(*index)));
            map.extend(uleb(text.len() as u64));
            map.extend_from_slice(text);
        }
        let mut bytes = vec![1];
        bytes.extend(uleb(map.len() as u64));
        bytes.extend(map);
        bytes
    };
    let mangled = |prefix: &str, middle: &str, count: usize| {
        functions(&[(1, (prefix.to_string() + &middle.repeat(count)).as_bytes())])
    };
    let rust_v0 = {
        // Each tuple holds the one before it twice: the text doubles with every level.
        let mut text = "_RIC1a".to_string();
        let mut at = text.len() - 2;
        text += "hh";
        for _ in 0..30 {
            let back = base62(at);
            let next = text.len() - 2;
            text += &format!("TB{back}B{back}E");
            at = next;
        }
        text += "E";
        functions(&[(1, text.as_bytes())])
    };
    let many: Vec<(u32, &[u8])> = (0..300_000).map(|index| (index, b"f".as_slice())).collect();
    vec![
        case("empty-section", Vec::new()),
        case("broken-subsection", vec![1, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        case("count-lies", vec![1, 5, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        case(
            "of-unknown-functions",
            functions(&[(u32::MAX, b"ghost"), (1_000_000, b"ghost")]),
        ),
        case(
            "of-one-function-twice",
            functions(&[(1, b"first"), (1, b"second")]),
        ),
        case("not-utf8", functions(&[(1, b"\xff\xfe")])),
        case("empty", functions(&[(1, b"")])),
        case(
            "escapes",
            functions(&[(1, b"\x1b[31mred\x1b[0m"), (2, "\u{202e}evil".as_bytes())]),
        ),
        case("html", functions(&[(1, b"<img src=x onerror=alert(1)>")])),
        case("megabyte", functions(&[(1, &vec![b'n'; 1 << 20])])),
        case("300000", functions(&many)),
        case("cpp-nested-templates", mangled("_Z1fI", "N1aI", 20_000)),
        case("cpp-pointers", mangled("_Z1f", "P", 60_000)),
        case("cpp-function-types", mangled("_Z1f", "PFvP", 10_000)),
        case(
            "cpp-substitutions",
            functions(&[(1, cpp_doubling(40).as_bytes())]),
        ),
        case("rust-v0-doubling", rust_v0),
        case("rust-v0-deep", mangled("_R", "NvB_", 10_000)),
        case(
            "rust-legacy-length-lies",
            functions(&[(1, b"_ZN99999999999999999999core3fmtE")]),
        ),
        nothing_but_names(),
    ]
}

/// C++ parameters that each hold the one before twice.
fn cpp_doubling(levels: usize) -> String {
    let mut text = "_Z1fP1aI".to_string();
    for level in 0..levels {
        let reference = match level {
            0 => "S_".to_string(),
            _ => format!(
                "S{}_",
                char::from_digit(level as u32 - 1, 36)
                    .unwrap_or('z')
                    .to_ascii_uppercase()
            ),
        };
        text += &format!("S_I{reference}{reference}E");
    }
    text + "E"
}

/// The number of a back reference in Rust's mangling.
fn base62(number: usize) -> String {
    const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if number == 0 {
        return "_".to_string();
    }
    let mut rest = number - 1;
    let mut digits = Vec::new();
    loop {
        digits.push(DIGITS[rest % 62]);
        rest /= 62;
        if rest == 0 {
            break;
        }
    }
    digits.reverse();
    digits.into_iter().map(char::from).chain(['_']).collect()
}

/// A module that is a name section and nothing else.
fn nothing_but_names() -> Hostile {
    let mut parts = Parts::with_memory();
    parts.custom("name", vec![0, 2, 1, b'x']);
    Hostile::new(
        "debug-names-and-nothing-to-run",
        parts.bytes(),
        Expect::Refused("no entry point"),
    )
}
