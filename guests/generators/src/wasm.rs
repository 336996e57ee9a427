//! WebAssembly modules: well-formed bytes of random opcodes, without regard to types.
//!
//! After Zest's generator of Java classes (ISSTA 2019): sections and nesting are right, every instruction is drawn
//! evenly from the whole table, operands evenly, indices among what is there. Nothing tries to make the stack fit,
//! so the validator is what is hard to pass. Counts, opcodes, block types and nesting are structure; constants,
//! indices, alignments and types of locals are values.
//!
//! A departure: bodies are short (four instructions on average, not up to 99), so that a share of random modules
//! is valid at all.

use sandglass_sdk::{Depth, span, structure, value};

use crate::wasm_opcodes::{Operand, opcodes};

/// Levels of blocks within a function.
const LEVELS: u32 = 5;

/// Means of geometric counts.
const TYPES: u32 = 2;
const FUNCTIONS: u32 = 2;
const INSTRUCTIONS: u32 = 5;

/// i32, i64, f32, f64.
const VALUE_TYPES: &[u8] = &[0x7f, 0x7e, 0x7d, 0x7c];

/// Of each type, the instruction that makes a zero.
const ZEROS: &[(u8, &[u8])] = &[
    (0x7f, &[0x41, 0]),
    (0x7e, &[0x42, 0]),
    (0x7d, &[0x43, 0, 0, 0, 0]),
    (0x7c, &[0x44, 0, 0, 0, 0, 0, 0, 0, 0]),
];

/// A module.
pub fn module() -> Vec<u8> {
    let mut bytes = b"\0asm\x01\0\0\0".to_vec();
    let mut module = Module::default();
    let sections = [
        (1, module.types()),
        (3, module.functions()),
        (4, vec![1, 0x70, 0, 1]), // a table of at least one function
        (5, vec![1, 0, 1]),       // a memory of at least one page
        (6, module.globals()),
        (7, module.exports()),
        (10, module.code()),
    ];
    for (id, content) in sections {
        bytes.push(id);
        unsigned(&mut bytes, content.len() as u64);
        bytes.extend(content);
    }
    bytes
}

/// What indices may refer to.
#[derive(Default)]
struct Module {
    /// Parameters of each type.
    types: Vec<usize>,
    /// Type of each function.
    functions: Vec<usize>,
    globals: usize,
}

impl Module {
    fn types(&mut self) -> Vec<u8> {
        let count = structure!().geometric(TYPES) as usize;
        let mut bytes = length(count);
        for _ in structure!().times(count) {
            bytes.push(0x60);
            let parameters = structure!().int(0..=3);
            self.types.push(parameters);
            for count in [parameters, structure!().int(0..=1)] {
                unsigned(&mut bytes, count as u64);
                bytes.extend((0..count).map(|_| *value!().pick(VALUE_TYPES)));
            }
        }
        bytes
    }

    fn functions(&mut self) -> Vec<u8> {
        let count = structure!().geometric(FUNCTIONS) as usize;
        let mut bytes = length(count);
        for _ in 0..count {
            let kind = structure!().index(self.types.len());
            self.functions.push(kind);
            unsigned(&mut bytes, kind as u64);
        }
        bytes
    }

    /// Mutable globals of zero.
    fn globals(&mut self) -> Vec<u8> {
        self.globals = structure!().int(0..=3);
        let mut bytes = length(self.globals);
        for _ in 0..self.globals {
            let (kind, zero) = *value!().pick(ZEROS);
            bytes.extend([kind, 1]);
            bytes.extend(zero);
            bytes.push(0x0b);
        }
        bytes
    }

    /// Up to two functions under one-letter names. Two may have the same, which is invalid.
    fn exports(&mut self) -> Vec<u8> {
        let count = structure!().int(0..=2_usize);
        let mut bytes = length(count);
        for _ in 0..count {
            bytes.extend([1, value!().int(b'a'..=b'z'), 0]);
            let function = value!().index(self.functions.len());
            unsigned(&mut bytes, function as u64);
        }
        bytes
    }

    fn code(&mut self) -> Vec<u8> {
        let opcodes = opcodes();
        let mut bytes = length(self.functions.len());
        for &kind in &self.functions {
            let _span = span!("function");
            let own = structure!().int(0..=3_usize);
            let mut body = length(own);
            for _ in 0..own {
                body.extend([1, *value!().pick(VALUE_TYPES)]);
            }
            let mut code = Code {
                module: self,
                opcodes: &opcodes,
                locals: self.types[kind] + own,
                bytes: body,
            };
            code.instructions(Depth::of(LEVELS), 0);
            code.bytes.push(0x0b);
            unsigned(&mut bytes, code.bytes.len() as u64);
            bytes.extend(code.bytes);
        }
        bytes
    }
}

struct Code<'m> {
    module: &'m Module,
    opcodes: &'m [(u8, Operand)],
    locals: usize,
    bytes: Vec<u8>,
}

impl Code<'_> {
    /// A few instructions, so many blocks inside of the function.
    fn instructions(&mut self, depth: Depth, blocks: u32) {
        let count = structure!().geometric(INSTRUCTIONS) as usize - 1;
        for _ in structure!().times(count) {
            let (opcode, operand) = *structure!().pick(self.opcodes);
            match (operand, depth.down()) {
                (Operand::Block | Operand::If, Some(depth)) => {
                    self.block(opcode, operand, depth, blocks + 1)
                }
                // Without depth left: nop.
                (Operand::Block | Operand::If, None) => self.bytes.push(0x01),
                _ => {
                    self.bytes.push(opcode);
                    self.operand(operand, blocks);
                }
            }
        }
    }

    fn block(&mut self, opcode: u8, operand: Operand, depth: Depth, blocks: u32) {
        let _span = span!("block");
        let kind = *structure!().pick(&[0x40, 0x40, 0x40, 0x40, 0x7f, 0x7e, 0x7d, 0x7c]);
        self.bytes.extend([opcode, kind]);
        self.instructions(depth, blocks);
        if operand == Operand::If && structure!().boolean() {
            self.bytes.push(0x05);
            self.instructions(depth, blocks);
        }
        self.bytes.push(0x0b);
    }

    fn operand(&mut self, operand: Operand, blocks: u32) {
        match operand {
            Operand::None | Operand::Block | Operand::If => {}
            Operand::Memory => self.bytes.push(0),
            Operand::Address => {
                self.bytes.push(value!().int(0..=3));
                unsigned(&mut self.bytes, value!().int::<u64>(0..=0xffff));
            }
            Operand::Integer(bits) => {
                let number = value!().int::<i64>(..);
                signed(&mut self.bytes, number >> (64 - bits));
            }
            Operand::Float(count) => {
                let bits: [u8; 8] = value!().int::<i64>(..).to_le_bytes();
                self.bytes.extend(&bits[..count]);
            }
            Operand::Local => self.index(self.locals),
            Operand::Global => self.index(self.module.globals),
            Operand::Function => self.index(self.module.functions.len()),
            Operand::Label => unsigned(&mut self.bytes, value!().int::<u64>(0..=u64::from(blocks))),
            Operand::Indirect => {
                self.index(self.module.types.len());
                self.bytes.push(0);
            }
            Operand::Table => {
                let count = structure!().int(0..=3_usize);
                unsigned(&mut self.bytes, count as u64);
                for _ in 0..=count {
                    self.operand(Operand::Label, blocks);
                }
            }
        }
    }

    /// One of so many, or 0 of none, which is invalid.
    fn index(&mut self, count: usize) {
        let index = if count == 0 { 0 } else { value!().index(count) };
        unsigned(&mut self.bytes, index as u64);
    }
}

fn length(count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    unsigned(&mut bytes, count as u64);
    bytes
}

/// LEB128.
fn unsigned(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn signed(bytes: &mut Vec<u8>, mut number: i64) {
    while !(-0x40..0x40).contains(&number) {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8 & 0x7f);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_format_has_them() {
        let mut bytes = Vec::new();
        unsigned(&mut bytes, 624_485);
        signed(&mut bytes, -123_456);
        signed(&mut bytes, 64);
        assert_eq!(bytes, [0xe5, 0x8e, 0x26, 0xc0, 0xbb, 0x78, 0xc0, 0x00]);
    }
}
