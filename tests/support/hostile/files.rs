//! Files that are no modules, and modules that end too early.

use super::build::full;
use super::{Expect, Hostile};

pub(super) fn all() -> Vec<Hostile> {
    let mut all = vec![
        file("empty", b"", "empty"),
        file("one-zero-byte", b"\0", "cut short"),
        file("three-bytes-of-magic", b"\0as", "cut short"),
        file("magic-only", b"\0asm", "cut short"),
        file("magic-and-half-a-version", b"\0asm\x01\0", "cut short"),
        file("zeros", &[0; 64], "begins with 00 00 00 00"),
        file(
            "magic-reversed",
            b"msa\0\x01\0\0\0",
            "begins with 6d 73 61 00",
        ),
        file("version-0", b"\0asm\0\0\0\0", "version 0x0"),
        file("version-2", b"\0asm\x02\0\0\0", "version 0x2"),
        file(
            "version-huge",
            b"\0asm\xff\xff\xff\xff",
            "version 0xffffffff",
        ),
        file("component", b"\0asm\x0d\0\x01\0", "component"),
        file("component-with-sections", &component(), "component"),
        file("elf", b"\x7fELF\x02\x01\x01\0", "ELF"),
        file("windows-program", b"MZ\x90\0\x03\0", "Windows"),
        file("mach-o", b"\xcf\xfa\xed\xfe\x07\0\0\x01", "Mach-O"),
        file("java-class", b"\xca\xfe\xba\xbe\0\0\0\x41", "Java"),
        file("static-library", b"!<arch>\nfoo.o/  ", "static library"),
        file("gzip", b"\x1f\x8b\x08\0\0\0\0\0", "gunzip"),
        file("zstd", b"\x28\xb5\x2f\xfd\x04\0", "zstd -d"),
        file("xz", b"\xfd7zXZ\0\0\x04", "xz -d"),
        file("bzip2", b"BZh91AY&SY", "bunzip2"),
        file("zip", b"PK\x03\x04\x14\0", "unzip"),
        file("bitcode", b"BC\xc0\xde\x35\x14", "bitcode"),
        file("picture", b"\x89PNG\r\n\x1a\n", "PNG"),
        file("script", b"#!/usr/bin/env node\n", "script"),
        file("web-page", b"<!DOCTYPE html><title>404</title>", "web page"),
        file("text", b"\n  (module (func))", "wasm-tools parse"),
        file(
            "text-with-comment",
            b";; a comment\n(module)",
            "wasm-tools parse",
        ),
        file(
            "terminal-escapes",
            b"\x1b]0;owned\x07\x1b[2J",
            "begins with 1b 5d 30 3b",
        ),
        file(
            "unicode-bom",
            b"\xef\xbb\xbf(module)",
            "begins with ef bb bf",
        ),
    ];
    all.extend(truncations());
    all
}

fn file(name: &str, bytes: &[u8], fragment: &'static str) -> Hostile {
    Hostile::new(
        format!("file-{name}"),
        bytes.to_vec(),
        Expect::Refused(fragment),
    )
}

fn component() -> Vec<u8> {
    let mut component = wasm_encoder::Component::new();
    component.section(&wasm_encoder::ModuleSection(&full().sections()));
    component.finish()
}

/// A full module cut at every section boundary, and in the middle of every section and header.
fn truncations() -> Vec<Hostile> {
    let bytes = full().bytes();
    // What is still missing at each boundary, in the order of `build::full`.
    let boundary = |id: u8| match id {
        // After the types and imports, the module is complete but empty.
        1 | 2 => Expect::Refused("no entry point"),
        // Code is missing for the functions declared.
        3..=9 | 12 | 13 => Expect::Refused("code section is absent"),
        10 => Expect::Refused("data count"),
        _ => Expect::Runs,
    };
    let mut all = vec![Hostile::new(
        "cut-after-header",
        bytes[..8].to_vec(),
        Expect::Refused("no entry point"),
    )];
    let mut at = 8;
    while at < bytes.len() {
        // Every section here is shorter than 128 bytes, so its size is one byte.
        let (id, size) = (bytes[at], usize::from(bytes[at + 1]));
        let cut = |name: &str, end: usize, expect| {
            Hostile::new(
                format!("cut-{name}-section-{id}"),
                bytes[..end].to_vec(),
                expect,
            )
        };
        all.push(cut("in-header-of", at + 1, Expect::Refused("cut short")));
        all.push(cut("at-start-of", at + 2, Expect::Refused("cut short")));
        all.push(cut(
            "in-middle-of",
            at + 2 + size / 2,
            Expect::Refused("cut short"),
        ));
        at += 2 + size;
        all.push(cut("after", at, boundary(id)));
    }
    all
}
