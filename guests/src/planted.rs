//! The 24 planted faults of `guests/planted`: what a search is measured on.

/// One planted fault: a module that traps on exactly one condition.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// As in `guests/planted/README.md`, which says what each takes.
    pub name: &'static str,
    /// The module.
    pub wasm: &'static [u8],
    /// An input that triggers the fault: for tests that the fault is there. A search must never see it.
    pub witness: &'static [u8],
}

/// The only seed of a campaign against a planted fault.
pub const PLANTED_SEED: &[u8; 32] = b"The quick brown fox jumps over .";

/// All of them, in the order of the list.
pub const PLANTED: &[Planted] = &[
    Planted {
        name: "magic-1",
        wasm: include_bytes!("../planted/wasm/magic-1.wasm"),
        witness: b"\x00\x00\x00\x00\x00\xe7\x00\x00",
    },
    Planted {
        name: "magic-2-be",
        wasm: include_bytes!("../planted/wasm/magic-2-be.wasm"),
        witness: b"\x00\x00\xbe\xef",
    },
    Planted {
        name: "magic-3-base64",
        wasm: include_bytes!("../planted/wasm/magic-3-base64.wasm"),
        witness: b"xx+a",
    },
    Planted {
        name: "magic-4-le",
        wasm: include_bytes!("../planted/wasm/magic-4-le.wasm"),
        witness: b"\x00\x00\x00\x00gE\x8bk",
    },
    Planted {
        name: "magic-6-switch",
        wasm: include_bytes!("../planted/wasm/magic-6-switch.wasm"),
        witness: b">\x9c^\xed\x1eU",
    },
    Planted {
        name: "magic-8-le",
        wasm: include_bytes!("../planted/wasm/magic-8-le.wasm"),
        witness: b"\x00\x00\x00\x00\x00\x00\x00\x00\x15|J\x7f\xb9y7\x9e",
    },
    Planted {
        name: "magic-12-steps",
        wasm: include_bytes!("../planted/wasm/magic-12-steps.wasm"),
        witness: b"\x89SGL\x0d\x0a\x1a\x0a\xf1\x03w\xc4",
    },
    Planted {
        name: "memcmp-12-inline",
        wasm: include_bytes!("../planted/wasm/memcmp-12-inline.wasm"),
        witness: b"\xffhourglass\x80\x01",
    },
    Planted {
        name: "memcmp-16-call",
        wasm: include_bytes!("../planted/wasm/memcmp-16-call.wasm"),
        witness: b"\x00\x00\x00\x00+~\x15\x16(\xae\xd2\xa6\xab\xf7\x15\x88\x09\xcfO<",
    },
    Planted {
        name: "checksum-sum-xor",
        wasm: include_bytes!("../planted/wasm/checksum-sum-xor.wasm"),
        witness: b"SabcdefU\x07",
    },
    Planted {
        name: "checksum-crc32",
        wasm: include_bytes!("../planted/wasm/checksum-crc32.wasm"),
        witness: b"CR\xaf\xda\xe0\x9a12345678",
    },
    Planted {
        name: "nested-4",
        wasm: include_bytes!("../planted/wasm/nested-4.wasm"),
        witness: b"\x00Z\x00\x00\xf1\x00\x00\x12\x00\x00\x00\x00\xa5\x00\x00\x00",
    },
    Planted {
        name: "loop-count-7",
        wasm: include_bytes!("../planted/wasm/loop-count-7.wasm"),
        witness: b"xxxxxxx",
    },
    Planted {
        name: "loop-exact-37",
        wasm: include_bytes!("../planted/wasm/loop-exact-37.wasm"),
        witness: b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
    },
    Planted {
        name: "counter-10",
        wasm: include_bytes!("../planted/wasm/counter-10.wasm"),
        witness: b"++++++++++!",
    },
    Planted {
        name: "length-field",
        wasm: include_bytes!("../planted/wasm/length-field.wasm"),
        witness: b"\x04\x00\xca\xfe\x00\x00",
    },
    Planted {
        name: "tlv",
        wasm: include_bytes!("../planted/wasm/tlv.wasm"),
        witness: b"\x01\x00\x02\x00\x03\x02U\xaa",
    },
    Planted {
        name: "decimal-text",
        wasm: include_bytes!("../planted/wasm/decimal-text.wasm"),
        witness: b"n=48879",
    },
    Planted {
        name: "hex-text",
        wasm: include_bytes!("../planted/wasm/hex-text.wasm"),
        witness: b"#c0def00d",
    },
    Planted {
        name: "keywords",
        wasm: include_bytes!("../planted/wasm/keywords.wasm"),
        witness: b"open seek burn",
    },
    Planted {
        name: "state-machine",
        wasm: include_bytes!("../planted/wasm/state-machine.wasm"),
        witness: b"L-UUC",
    },
    Planted {
        name: "brackets-5",
        wasm: include_bytes!("../planted/wasm/brackets-5.wasm"),
        witness: b"([{(())}])",
    },
    Planted {
        name: "sorted",
        wasm: include_bytes!("../planted/wasm/sorted.wasm"),
        witness: b"\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00\x07\x00\x01\xf0",
    },
    Planted {
        name: "dependent-fields",
        wasm: include_bytes!("../planted/wasm/dependent-fields.wasm"),
        witness: b"gE#\x01\xd0\x07w\x17",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_24_and_the_list_names_them() {
        assert_eq!(PLANTED.len(), 24);
        let list = include_str!("../planted/README.md");
        for (index, planted) in PLANTED.iter().enumerate() {
            let row = format!("| {} | `{}` |", index + 1, planted.name);
            assert!(list.contains(&row), "{row}");
            assert!(planted.wasm.starts_with(b"\0asm"), "{}", planted.name);
        }
    }
}
