//! How large a module may be: the bounds that keep a compile bomb from being compiled.

/// Upper bounds, all inclusive. Where wasmparser has a lower bound of its own, that one holds.
///
/// The values of [`AcceptLimits::standard`] were chosen from both sides: above what 25 real libraries need (the largest
/// number is given with each field, from SQLite, QuickJS, PCRE2, Lua, MuJS and the regex crate), and low enough that
/// Cranelift compiles a generated function at the limit in seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptLimits {
    /// Bytes of all memories together at start; the run's own memory limit.
    pub memory_bytes: u64,
    /// Bytes of the file.
    pub module_bytes: u64,
    /// Bytes of the code section; the largest real one has 2.9 million.
    pub code_bytes: u64,
    /// Bytes of one function's body; the largest real one has 234,000.
    pub body_bytes: u64,
    /// Types, counted one by one inside recursion groups.
    pub types: u64,
    /// Imports of all kinds.
    pub imports: u64,
    /// Exports of all kinds.
    pub exports: u64,
    /// Functions, imported and defined.
    pub functions: u64,
    /// Globals, imported and defined.
    pub globals: u64,
    /// Tags, imported and defined.
    pub tags: u64,
    /// Memories, imported and defined.
    pub memories: u64,
    /// Tables, imported and defined.
    pub tables: u64,
    /// Elements of all tables together at start; a slot costs eight bytes in every worker.
    pub table_elements: u64,
    /// Element segments.
    pub element_segments: u64,
    /// Items of all element segments together.
    pub element_items: u64,
    /// Data segments.
    pub data_segments: u64,
    /// Locals of one function, parameters included. Real ones have at most 123 when optimised, tens of thousands at
    /// `-O0`; wasmtime takes 50,000, of which passes add some.
    pub locals: u64,
    /// Locals of all functions. A function of ten bytes can declare 50,000, each of which walrus keeps in some
    /// 30 bytes; SQLite declares 7,000 in all.
    pub module_locals: u64,
    /// Nested blocks, loops, ifs and try tables in one function; the deepest real one is 284. Cranelift needs 0.1 s
    /// for 10,000.
    pub nesting: u64,
    /// Targets of one `br_table`, the default included; the largest real one has 348.
    pub br_table_targets: u64,
    /// Values on the operand stack at once, which is a few dozen in real code: 10,000 compile in 3 s, 100,000 not
    /// in two minutes.
    pub stack_height: u64,
    /// Values that one function moves: one for each operator, plus what calls, branches and blocks pass on. A call of
    /// two bytes can make a thousand values, so bytes alone bound nothing.
    pub values: u64,
    /// Locals × control operators of one function: the table that Cranelift keeps while it builds SSA form, 4 to 28
    /// bytes for each.
    pub locals_times_branches: u64,
    /// Estimated time to compile one function, in microseconds; see the table in `body.rs`.
    /// The slowest real function, PCRE2's matcher, comes to 2.5 s.
    pub function_compile_us: u64,
    /// The same for all functions together; SQLite comes to 6 s and takes 2 s.
    pub module_compile_us: u64,
    /// Files that it carries.
    pub files: u64,
    /// Whether struct, array and typed function reference types are accepted.
    pub gc: bool,
}

impl AcceptLimits {
    /// The limits of a campaign whose guests get `memory_bytes`.
    pub const fn standard(memory_bytes: u64) -> AcceptLimits {
        AcceptLimits {
            memory_bytes,
            module_bytes: 256 << 20,
            code_bytes: 64 << 20,
            body_bytes: 2 << 20,
            types: 50_000,
            imports: 10_000,
            exports: 100_000,
            functions: 200_000,
            globals: 50_000,
            tags: 10_000,
            memories: 32,
            tables: 32,
            table_elements: 1_000_000,
            element_segments: 50_000,
            element_items: 4_000_000,
            data_segments: 100_000,
            locals: 49_900,
            module_locals: 8_000_000,
            nesting: 2_000,
            br_table_targets: 65_536,
            stack_height: 10_000,
            values: 1_000_000,
            locals_times_branches: 50_000_000,
            function_compile_us: 30_000_000,
            module_compile_us: 600_000_000,
            files: 10_000,
            gc: false,
        }
    }
}
