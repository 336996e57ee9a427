//! A small module builder: a working reactor by default, of which each case spoils one thing.

use std::borrow::Cow;

use wasm_encoder::{
    CodeSection, ConstExpr, CustomSection, DataCountSection, DataSection, ElementSection,
    EntityType, ExportKind, ExportSection, Function, FunctionSection, GlobalSection, ImportSection,
    InstructionSink, MemorySection, MemoryType, Module, StartSection, TableSection, TagSection,
    TypeSection, ValType,
};

/// Type index of `LLVMFuzzerTestOneInput`.
pub(super) const TARGET_TYPE: u32 = 0;
/// Type index of `[] -> []`.
pub(super) const UNIT_TYPE: u32 = 1;
/// Type index of `[i32] -> [i32]`.
pub(super) const WORD_TYPE: u32 = 2;

/// A module in parts. Function indices: imports first, in order, then `functions`.
pub(super) struct Parts {
    pub(super) types: TypeSection,
    pub(super) imports: ImportSection,
    pub(super) imported: u32,
    pub(super) functions: FunctionSection,
    pub(super) tables: TableSection,
    pub(super) memories: MemorySection,
    pub(super) tags: TagSection,
    pub(super) globals: GlobalSection,
    pub(super) exports: ExportSection,
    pub(super) start: Option<u32>,
    pub(super) elements: ElementSection,
    pub(super) data_count: Option<u32>,
    pub(super) code: CodeSection,
    pub(super) data: DataSection,
    pub(super) customs: Vec<(String, Vec<u8>)>,
}

impl Parts {
    /// The three common types and nothing else.
    pub(super) fn empty() -> Parts {
        let mut types = TypeSection::new();
        types
            .ty()
            .function([ValType::I32, ValType::I32], [ValType::I32]);
        types.ty().function([], []);
        types.ty().function([ValType::I32], [ValType::I32]);
        Parts {
            types,
            imports: ImportSection::new(),
            imported: 0,
            functions: FunctionSection::new(),
            tables: TableSection::new(),
            memories: MemorySection::new(),
            tags: TagSection::new(),
            globals: GlobalSection::new(),
            exports: ExportSection::new(),
            start: None,
            elements: ElementSection::new(),
            data_count: None,
            code: CodeSection::new(),
            data: DataSection::new(),
            customs: Vec::new(),
        }
    }

    /// The types and an exported memory of one page.
    pub(super) fn with_memory() -> Parts {
        let mut parts = Parts::empty();
        parts.memory(1, None);
        parts.exports.export("memory", ExportKind::Memory, 0);
        parts
    }

    pub(super) fn memory(&mut self, minimum: u64, maximum: Option<u64>) {
        self.memories.memory(MemoryType {
            minimum,
            maximum,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
    }

    /// Imports a function; all imports come before all functions.
    pub(super) fn import(&mut self, module: &str, name: &str, ty: u32) -> u32 {
        self.imports.import(module, name, EntityType::Function(ty));
        self.imported += 1;
        self.imported - 1
    }

    /// Adds a function; `body` writes everything but the last `end`. Returns its index.
    pub(super) fn function(
        &mut self,
        ty: u32,
        locals: &[(u32, ValType)],
        body: impl FnOnce(&mut InstructionSink<'_>),
    ) -> u32 {
        let mut function = Function::new(locals.iter().copied());
        body(&mut function.instructions());
        function.instructions().end();
        self.functions.function(ty);
        self.code.function(&function);
        self.imported + self.functions.len() - 1
    }

    /// A function whose body is these bytes, local declarations and last `end` included.
    pub(super) fn raw_function(&mut self, ty: u32, body: &[u8]) -> u32 {
        self.functions.function(ty);
        self.code.raw(body);
        self.imported + self.functions.len() - 1
    }

    /// Adds a function and exports it as the target.
    pub(super) fn target(&mut self, body: impl FnOnce(&mut InstructionSink<'_>)) -> &mut Parts {
        self.target_with(&[], body)
    }

    /// [`Parts::target`] with locals of its own; the first is number 2.
    pub(super) fn target_with(
        &mut self,
        locals: &[(u32, ValType)],
        body: impl FnOnce(&mut InstructionSink<'_>),
    ) -> &mut Parts {
        let index = self.function(TARGET_TYPE, locals, body);
        self.exports
            .export("LLVMFuzzerTestOneInput", ExportKind::Func, index);
        self
    }

    /// A target that accepts everything.
    pub(super) fn idle_target(&mut self) -> &mut Parts {
        self.target(|f| {
            f.i32_const(0);
        })
    }

    pub(super) fn custom(&mut self, name: &str, data: Vec<u8>) -> &mut Parts {
        self.customs.push((name.to_string(), data));
        self
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.sections().finish()
    }

    /// The module, sections in their order, absent ones left out.
    pub(super) fn sections(&self) -> Module {
        let mut module = Module::new();
        if !self.types.is_empty() {
            module.section(&self.types);
        }
        if !self.imports.is_empty() {
            module.section(&self.imports);
        }
        if !self.functions.is_empty() {
            module.section(&self.functions);
        }
        if !self.tables.is_empty() {
            module.section(&self.tables);
        }
        if !self.memories.is_empty() {
            module.section(&self.memories);
        }
        if !self.tags.is_empty() {
            module.section(&self.tags);
        }
        if !self.globals.is_empty() {
            module.section(&self.globals);
        }
        if !self.exports.is_empty() {
            module.section(&self.exports);
        }
        if let Some(function_index) = self.start {
            module.section(&StartSection { function_index });
        }
        if !self.elements.is_empty() {
            module.section(&self.elements);
        }
        if let Some(count) = self.data_count {
            module.section(&DataCountSection { count });
        }
        if !self.code.is_empty() {
            module.section(&self.code);
        }
        if !self.data.is_empty() {
            module.section(&self.data);
        }
        for (name, data) in &self.customs {
            module.section(&CustomSection {
                name: Cow::Borrowed(name),
                data: Cow::Borrowed(data),
            });
        }
        module
    }
}

/// A target with this body and nothing else.
pub(super) fn target(body: impl FnOnce(&mut InstructionSink<'_>)) -> Vec<u8> {
    Parts::with_memory().target(body).bytes()
}

/// A working reactor that uses many kinds of sections.
pub(super) fn full() -> Parts {
    let mut parts = Parts::empty();
    let exit_type = parts.types.len();
    parts.types.ty().function([ValType::I32], []);
    parts.import("wasi_snapshot_preview1", "proc_exit", exit_type);
    parts.memory(1, Some(16));
    parts.exports.export("memory", ExportKind::Memory, 0);
    parts.tables.table(wasm_encoder::TableType {
        element_type: wasm_encoder::RefType::FUNCREF,
        table64: false,
        minimum: 2,
        maximum: None,
        shared: false,
    });
    parts.tags.tag(wasm_encoder::TagType {
        kind: wasm_encoder::TagKind::Exception,
        func_type_idx: UNIT_TYPE,
    });
    parts.globals.global(
        wasm_encoder::GlobalType {
            val_type: ValType::I32,
            mutable: true,
            shared: false,
        },
        &ConstExpr::i32_const(1024),
    );
    parts.idle_target();
    let start = parts.function(UNIT_TYPE, &[], |_| {});
    parts.start = Some(start);
    parts.elements.active(
        None,
        &ConstExpr::i32_const(0),
        wasm_encoder::Elements::Functions(Cow::Borrowed(&[1, 2])),
    );
    parts.data_count = Some(1);
    parts
        .data
        .active(0, &ConstExpr::i32_const(16), *b"some data\0");
    parts
}

/// An unsigned LEB128 number.
pub(super) fn uleb(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// A module of raw sections, each with a correct size.
pub(super) fn raw(sections: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = b"\0asm\x01\0\0\0".to_vec();
    for (id, contents) in sections {
        bytes.push(*id);
        bytes.extend(uleb(contents.len() as u64));
        bytes.extend_from_slice(contents);
    }
    bytes
}
