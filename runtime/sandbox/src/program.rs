//! Program: one module, instrumented and compiled for one way of running.

use std::sync::{Arc, OnceLock};

use sandglass_abi as abi;
use sandglass_instrument::printable::printable;
use sandglass_instrument::{CostModel, ProbeMap, Probes, instrument_with};
use wasmtime::{ExternType, FuncType, InstancePre, Linker, Module, ValType};

use crate::budget::Budget;
use crate::cache::Cache;
use crate::compile::Build;
use crate::error::SandboxError;
use crate::host::{self, Host};

/// What of the outside world a guest is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Arguments, the program's name first; `@@` stands for the input as a file.
    pub args: Vec<String>,
    /// Environment.
    pub env: Vec<(String, String)>,
    /// Virtual files: path and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// Unknown functions are imported as stubs that trap when called.
    pub stub_imports: bool,
    /// Memory errors are to be looked for in each run: see [`Build::Heap`].
    pub sanitize_heap: bool,
    /// Functions of the guest's allocator, as `malloc=my_alloc` or `malloc=#17`, which count before those that have a
    /// known name. For that variant only.
    pub allocator: Vec<String>,
    /// Enter through `sandglass_generate`, even if there is a target to start in the module.
    pub generator: bool,
    /// What fuel counts.
    pub cost: CostModel,
}

impl Options {
    /// Does the program get its input as a file?
    pub(crate) fn has_input_file(&self) -> bool {
        self.args.iter().any(|arg| arg.contains("@@"))
    }
}

/// How a run enters the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// `LLVMFuzzerTestOneInput(ptr, len) -> i32`.
    Reactor,
    /// `_start`, with the input on stdin or in a file.
    Command,
    /// `sandglass_property() -> i32`.
    Property,
    /// `sandglass_generate()`.
    Generator,
}

impl EntryKind {
    /// The export that it calls.
    pub fn export(self) -> &'static str {
        match self {
            EntryKind::Reactor => abi::TEST_ONE_INPUT,
            EntryKind::Command => abi::START,
            EntryKind::Property => abi::PROPERTY,
            EntryKind::Generator => abi::GENERATE,
        }
    }

    fn signature(self) -> (&'static [ValType], &'static [ValType], &'static str) {
        const I: ValType = ValType::I32;
        match self {
            EntryKind::Reactor => (&[I, I], &[I], "[i32 i32] -> [i32]"),
            EntryKind::Property => (&[], &[I], "[] -> [i32]"),
            EntryKind::Command | EntryKind::Generator => (&[], &[], "[] -> []"),
        }
    }
}

/// A compiled module, shared by all workers.
pub struct Program {
    pub(crate) pre: InstancePre<Host>,
    pub(crate) module: Module,
    pub(crate) map: Arc<ProbeMap>,
    pub(crate) build: Build,
    pub(crate) entry: EntryKind,
    pub(crate) options: Options,
    /// Native code offsets and the wasm offsets that they were made from; read at the first trap.
    addresses: OnceLock<Vec<(usize, Option<u32>)>>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Program")
            .field("build", &self.build)
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

impl Program {
    /// The budget of a run, or of all set-up functions.
    pub(crate) fn budget(&self, limit: u64) -> Budget {
        let counts = self.build.probes().counts;
        Budget::new(limit, counts.then(|| self.map.probes.len()))
    }

    /// Instruments and compiles `wasm`, or takes both from the cache. `wasm` must have passed
    /// `sandglass_instrument::accept`.
    ///
    /// # Errors
    /// When the module cannot be instrumented, compiled or linked.
    pub fn build(
        wasm: &[u8],
        build: Build,
        options: &Options,
        cache: Option<&Cache>,
    ) -> Result<Program, SandboxError> {
        let engine = build.engine();
        let probes = Probes {
            generator: options.generator,
            cost: options.cost,
            ..build.probes()
        };
        let given: &[String] = match probes.heap {
            true => &options.allocator,
            false => &[],
        };
        let key = cache.map(|_| crate::cache::key(wasm, build, probes, given, engine));
        let cached = match (cache, &key) {
            (Some(cache), Some(key)) => cache.load(key, engine),
            _ => None,
        };
        let (module, map) = match cached {
            Some(found) => found,
            None => {
                let instrumented = instrument_with(wasm, probes, given)?;
                let compile = |error: wasmtime::Error| SandboxError::Compile(format!("{error:#}"));
                let module = Module::from_binary(engine, &instrumented.wasm).map_err(compile)?;
                if let (Some(cache), Some(key)) = (cache, &key) {
                    cache.store(key, &module, &instrumented.probe_map);
                }
                (module, instrumented.probe_map)
            }
        };
        let entry = entry_kind(&module, options.generator)?;
        let linker = link(&module, options)?;
        let pre = linker
            .instantiate_pre(&module)
            .map_err(|error| SandboxError::Instantiate(format!("{error:#}")))?;
        Ok(Program {
            pre,
            module,
            map: Arc::new(map),
            build,
            entry,
            options: options.clone(),
            addresses: OnceLock::new(),
        })
    }

    /// What the probes mean.
    pub fn probe_map(&self) -> &Arc<ProbeMap> {
        &self.map
    }

    /// How runs enter it.
    pub fn entry(&self) -> EntryKind {
        self.entry
    }

    /// The original offset of the operator that the native instruction at `pc` was made from.
    pub(crate) fn operator_at(&self, pc: usize) -> Option<u32> {
        let text = self.module.text();
        let offset = pc
            .checked_sub(text.as_ptr() as usize)
            .filter(|offset| *offset < text.len())?;
        let addresses = self
            .addresses
            .get_or_init(|| self.module.address_map().into_iter().flatten().collect());
        let at = addresses
            .partition_point(|(start, _)| *start <= offset)
            .checked_sub(1)?;
        self.map.original_offset(addresses[at].1?)
    }

    /// Bytes of its native code.
    pub fn code_bytes(&self) -> usize {
        self.module.text().len()
    }

    /// How it was built.
    pub fn build_kind(&self) -> Build {
        self.build
    }
}

fn entry_kind(module: &Module, generator: bool) -> Result<EntryKind, SandboxError> {
    let kinds = if generator {
        &[EntryKind::Generator][..]
    } else {
        &[
            EntryKind::Reactor,
            EntryKind::Property,
            EntryKind::Command,
            EntryKind::Generator,
        ]
    };
    for &kind in kinds {
        let Some(ExternType::Func(ty)) = module.get_export(kind.export()) else {
            continue;
        };
        let (params, results, expected) = kind.signature();
        if !same(ty.params(), params) || !same(ty.results(), results) {
            let (name, found) = (kind.export().to_string(), type_text(&ty));
            return Err(SandboxError::ExportType {
                name,
                found,
                expected,
            });
        }
        return Ok(kind);
    }
    Err(SandboxError::Instrument(
        sandglass_instrument::InstrumentError::NoEntry,
    ))
}

fn same(found: impl Iterator<Item = ValType>, expected: &[ValType]) -> bool {
    let found = found.collect::<Vec<_>>();
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| ValType::eq(a, b))
}

/// A function type as in error messages.
pub(crate) fn type_text(ty: &FuncType) -> String {
    let list = |types: &mut dyn Iterator<Item = ValType>| {
        types.map(|t| t.to_string()).collect::<Vec<_>>().join(" ")
    };
    format!(
        "[{}] -> [{}]",
        list(&mut ty.params()),
        list(&mut ty.results())
    )
}

/// Provides every import of `module`, or says which cannot be.
fn link(module: &Module, options: &Options) -> Result<Linker<Host>, SandboxError> {
    let mut linker = Linker::new(module.engine());
    // Importing one thing twice is legal.
    linker.allow_shadowing(true);
    let mut unknown = Vec::new();
    for import in module.imports() {
        let provided = match import.ty() {
            ExternType::Func(ty) => host::provide(
                &mut linker,
                import.module(),
                import.name(),
                &ty,
                options.stub_imports,
            ),
            _ => false,
        };
        if !provided {
            let kind = match import.ty() {
                ExternType::Func(ty) => format!("function {}", type_text(&ty)),
                ExternType::Global(_) => "a global".into(),
                ExternType::Table(_) => "a table".into(),
                ExternType::Memory(_) => "a memory (link without --import-memory)".into(),
                ExternType::Tag(_) => "a tag".into(),
            };
            unknown.push(format!(
                "`{}.{}` ({kind})",
                printable(import.module()),
                printable(import.name())
            ));
        }
    }
    if unknown.is_empty() {
        Ok(linker)
    } else {
        Err(SandboxError::Imports(unknown))
    }
}
