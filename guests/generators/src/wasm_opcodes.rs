//! The instructions that [`crate::wasm`] draws from, with what follows each opcode.

/// What follows an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// Nothing.
    None,
    /// A zero byte: which memory.
    Memory,
    /// Alignment and offset.
    Address,
    /// A constant of so many bits, as a signed LEB128.
    Integer(u32),
    /// A constant of so many bytes.
    Float(usize),
    /// An index into locals, globals, functions.
    Local,
    Global,
    Function,
    /// How many blocks out.
    Label,
    /// A type and table 0.
    Indirect,
    /// A block type, instructions, `end`.
    Block,
    /// As `Block`, with an `else` perhaps.
    If,
    /// A list of labels, and one more.
    Table,
}

/// Every opcode of the first version of WebAssembly but `else` and `end`, and the sign extensions; each once.
pub(crate) fn opcodes() -> Vec<(u8, Operand)> {
    use Operand::*;
    let mut all = vec![
        (0x00, None),     // unreachable
        (0x01, None),     // nop
        (0x02, Block),    // block
        (0x03, Block),    // loop
        (0x04, If),       // if
        (0x0c, Label),    // br
        (0x0d, Label),    // br_if
        (0x0e, Table),    // br_table
        (0x0f, None),     // return
        (0x10, Function), // call
        (0x11, Indirect), // call_indirect
        (0x1a, None),     // drop
        (0x1b, None),     // select
        (0x20, Local),    // local.get
        (0x21, Local),    // local.set
        (0x22, Local),    // local.tee
        (0x23, Global),   // global.get
        (0x24, Global),   // global.set
        (0x3f, Memory),   // memory.size
        (0x40, Memory),   // memory.grow
        (0x41, Integer(32)),
        (0x42, Integer(64)),
        (0x43, Float(4)),
        (0x44, Float(8)),
    ];
    all.extend((0x28..=0x3e).map(|opcode| (opcode, Address))); // loads and stores
    all.extend((0x45..=0xc4).map(|opcode| (opcode, None))); // numeric
    all
}
