//! Files that are not modules, and modules that end too early: what can be said without looking into sections.

use super::{AcceptLimits, Reason, Refusal};

const MAGIC: &[u8] = b"\0asm";

/// What a file is that people pass by mistake: its first bytes, its name, and what to do instead.
const OTHERS: &[(&[u8], &str, &str)] = &[
    (
        b"\x7fELF",
        "a native ELF program",
        "build it for `wasm32-wasip1`",
    ),
    (b"MZ", "a Windows program", "build it for `wasm32-wasip1`"),
    (
        b"\xcf\xfa\xed\xfe",
        "a native Mach-O program",
        "build it for `wasm32-wasip1`",
    ),
    (
        b"\xce\xfa\xed\xfe",
        "a native Mach-O program",
        "build it for `wasm32-wasip1`",
    ),
    (
        b"\xca\xfe\xba\xbe",
        "a Mach-O or Java class file",
        "build it for `wasm32-wasip1`",
    ),
    (b"!<arch>", "a static library", "link it into a module"),
    (b"\x1f\x8b", "gzip-compressed", "unpack it with `gunzip`"),
    (
        b"\x28\xb5\x2f\xfd",
        "zstd-compressed",
        "unpack it with `zstd -d`",
    ),
    (b"\xfd7zXZ\0", "xz-compressed", "unpack it with `xz -d`"),
    (b"BZh", "bzip2-compressed", "unpack it with `bunzip2`"),
    (b"PK\x03\x04", "a zip archive", "unpack it with `unzip`"),
    (
        b"BC\xc0\xde",
        "LLVM bitcode",
        "link it into a module (without `-flto -c`)",
    ),
    (
        b"\x89PNG",
        "a PNG picture",
        "pass a `.wasm` file first, inputs after it",
    ),
    (
        b"%PDF",
        "a PDF document",
        "pass a `.wasm` file first, inputs after it",
    ),
    (b"#!", "a script", "pass the `.wasm` file that it runs"),
];

/// The sections a module can have, by number.
const SECTIONS: &[&str] = &[
    "custom",
    "type",
    "import",
    "function",
    "table",
    "memory",
    "global",
    "export",
    "start",
    "element",
    "code",
    "data",
    "data count",
    "tag",
];

/// Checks size, header and that every section lies inside the file.
pub(super) fn check(wasm: &[u8], limits: &AcceptLimits) -> Result<(), Refusal> {
    if wasm.len() as u64 > limits.module_bytes {
        let message = format!(
            "file has {} bytes, expected at most {}; strip debug information or split it off",
            wasm.len(),
            limits.module_bytes
        );
        return Err(Refusal::new(Reason::Limit, message));
    }
    let Some(version) = wasm.strip_prefix(MAGIC) else {
        return Err(Refusal::new(Reason::NotAModule, other(wasm)));
    };
    let &[a, b, c, d, ..] = version else {
        let message = format!(
            "file is cut short: the header has 8 bytes, the file {}; build or copy it again",
            wasm.len()
        );
        return Err(Refusal::new(Reason::Truncated, message));
    };
    match (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])) {
        (1, 0) => {}
        (_, 1) => {
            let message = "is a WebAssembly component, expected a core module; build for `wasm32-wasip1` instead of \
                `wasm32-wasip2`, or take the core module out with `wasm-tools component unbundle`";
            return Err(Refusal::new(Reason::NotAModule, message));
        }
        _ => {
            let version = u32::from_le_bytes([a, b, c, d]);
            let message = format!(
                "has WebAssembly version {version:#x}, expected version 1; build it with another tool"
            );
            return Err(Refusal::new(Reason::NotAModule, message));
        }
    }
    sections_fit(wasm)
}

/// Walks the section headers. What is wrong with a header's number is left to the validator.
fn sections_fit(wasm: &[u8]) -> Result<(), Refusal> {
    let mut at = 8;
    while at < wasm.len() {
        let start = at;
        let id = wasm[at];
        at += 1;
        let Some((size, used)) = uleb32(&wasm[at..]) else {
            if wasm.len() - at < 5 && wasm[at..].iter().all(|byte| byte & 0x80 != 0) {
                let message = format!(
                    "file is cut short: it ends in the header of the {} section at offset {start:#x}; build or copy it again",
                    section_name(id)
                );
                return Err(Refusal::new(Reason::Truncated, message));
            }
            let message = format!(
                "malformed size of the {} section at offset {start:#x}",
                section_name(id)
            );
            return Err(Refusal::new(Reason::Malformed, message));
        };
        at += used;
        let left = wasm.len() - at;
        if size as usize > left {
            let message = format!(
                "file is cut short: the {} section at offset {start:#x} has {size} bytes, the file {left} more; \
                 build or copy it again",
                section_name(id)
            );
            return Err(Refusal::new(Reason::Truncated, message));
        }
        at += size as usize;
    }
    Ok(())
}

fn section_name(id: u8) -> &'static str {
    SECTIONS.get(usize::from(id)).copied().unwrap_or("unknown")
}

/// A LEB128 number of at most 32 bits, and how many bytes it has.
fn uleb32(bytes: &[u8]) -> Option<(u32, usize)> {
    let mut value: u64 = 0;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((u32::try_from(value).ok()?, index + 1));
        }
    }
    None
}

fn other(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "file is empty, expected a WebAssembly module".to_string();
    }
    if bytes.len() < 4 && MAGIC.starts_with(bytes) {
        return format!(
            "file is cut short: the header has 8 bytes, the file {}; build or copy it again",
            bytes.len()
        );
    }
    for (magic, name, instead) in OTHERS {
        if bytes.starts_with(magic) {
            return format!("is {name}, expected a WebAssembly module; {instead}");
        }
    }
    let start: Vec<u8> = bytes
        .iter()
        .copied()
        .take(4096)
        .skip_while(u8::is_ascii_whitespace)
        .collect();
    if start.starts_with(b"(module")
        || start.starts_with(b"(component")
        || start.starts_with(b";;")
        || start.starts_with(b"(;")
    {
        return "is WebAssembly text, expected a binary module; convert it with `wasm-tools parse FILE.wat -o FILE.wasm`"
            .to_string();
    }
    if start.starts_with(b"<") {
        return "is a web page or XML file, expected a WebAssembly module; download it again"
            .to_string();
    }
    let head: String = bytes
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x} "))
        .collect();
    format!(
        "is not a WebAssembly module: it begins with {}instead of 00 61 73 6d",
        head
    )
}
