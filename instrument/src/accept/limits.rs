//! How large a module may be: the bounds that keep a compile bomb from being compiled.

/// Upper bounds, all inclusive. Where wasmparser has a lower bound of its own, that one holds.
///
/// The defaults of [`AcceptLimits::standard`] are 3 to 30 times what the largest real modules at hand need, and each
/// was tried alone at its limit with Cranelift (see the fields). They bound one dimension each; the two products that
/// matter, values and locals × branches, have limits of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptLimits {
    /// Bytes of all memories together at start; the run's own memory limit.
    pub memory_bytes: u64,
    /// Bytes of the file.
    pub module_bytes: u64,
    /// Bytes of the code section.
    pub code_bytes: u64,
    /// Bytes of one function's body.
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
    /// Locals of one function, parameters included.
    pub locals: u64,
    /// Nested blocks, loops, ifs and try tables in one function.
    pub nesting: u64,
    /// Nested loops in one function.
    pub loop_nesting: u64,
    /// Targets of one `br_table`, the default included.
    pub br_table_targets: u64,
    /// Values that one function moves: one for each operator, plus what calls, branches and blocks pass on. A call of
    /// two bytes can make a thousand values, so bytes alone bound nothing.
    pub values: u64,
    /// Locals × control operators of one function: the table that Cranelift keeps while it builds SSA form.
    pub locals_times_branches: u64,
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
            body_bytes: 4 << 20,
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
            locals: 20_000,
            nesting: 10_000,
            loop_nesting: 256,
            br_table_targets: 65_536,
            values: 2_000_000,
            locals_times_branches: 50_000_000,
            gc: true,
        }
    }
}
