//! One store in which the modules of a test file live, and the actions that the file asks for.
//!
//! A [`World`] runs modules as they are, or instrumented; what it does with a directive is
//! described in [`Verdict`]s, which the caller compares between the two.

use std::collections::BTreeMap;

use sandglass_instrument::{HOST_MODULE, Probes, instrument};
use wasmtime::{
    AsContextMut, Engine, Error, Extern, Global, GlobalType, Instance, Linker, Memory, MemoryType,
    Module, Mutability, Ref, RefType, Store, Table, TableType, ThrownException, Trap, Val, ValType,
};
use wast::core::WastArgCore;
use wast::token::Id;
use wast::{QuoteWat, QuoteWatTest, WastArg, WastDirective, WastExecute, WastInvoke};

use crate::values;

/// The depth that the instrumented modules start with.
const DEPTH: i32 = 10_000;

/// What became of a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It asserts nothing that runs.
    Silent,
    /// The assertion holds; the text tells more than it asks (the kind of trap).
    Pass(String),
    /// It does not hold.
    Fail(String),
    /// It depends on a module that does not run here.
    Excluded(String),
}

/// What a directive is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Values, traps, exceptions, failed links.
    Run,
    /// A binary that must be refused.
    Refuse,
    /// Everything else.
    Other,
}

/// Sorts directives.
pub(crate) fn kind(directive: &WastDirective<'_>) -> Kind {
    match directive {
        WastDirective::AssertReturn { .. }
        | WastDirective::AssertTrap { .. }
        | WastDirective::AssertExhaustion { .. }
        | WastDirective::AssertException { .. }
        | WastDirective::AssertUnlinkable { .. } => Kind::Run,
        WastDirective::AssertInvalid { .. } | WastDirective::AssertMalformed { .. } => Kind::Refuse,
        _ => Kind::Other,
    }
}

/// An instance, or why there is none.
type Slot = Result<Instance, String>;

/// How an action ended.
enum Answer {
    Values(Vec<Val>),
    Error(Error),
    /// There is nothing to act on.
    Missing(String),
}

/// The modules of one test file.
pub(crate) struct World {
    engine: Engine,
    probes: Option<Probes>,
    store: Store<()>,
    linker: Linker<()>,
    current: Slot,
    named: BTreeMap<String, Slot>,
    registered: BTreeMap<String, String>,
    definitions: BTreeMap<String, Result<Module, String>>,
    latest: Result<Module, String>,
    depths: Vec<Global>,
    /// Modules instrumented, and why others were not.
    pub(crate) instrumented: usize,
    /// A count by reason.
    pub(crate) refused: BTreeMap<String, usize>,
}

impl World {
    /// An empty world; with `probes` everything in it is instrumented.
    pub(crate) fn new(engine: &Engine, probes: Option<Probes>) -> World {
        let mut store = Store::new(engine, ());
        let mut linker = Linker::new(engine);
        linker.allow_shadowing(true);
        host(&mut linker).expect("the names are new");
        spectest(&mut linker, &mut store).expect("the names are new");
        let none = || "there is no module before it".to_string();
        World {
            engine: engine.clone(),
            probes,
            store,
            linker,
            current: Err(none()),
            named: BTreeMap::new(),
            registered: BTreeMap::new(),
            definitions: BTreeMap::new(),
            latest: Err(none()),
            depths: Vec::new(),
            instrumented: 0,
            refused: BTreeMap::new(),
        }
    }

    /// Does what `directive` says.
    pub(crate) fn run(&mut self, directive: &mut WastDirective<'_>) -> Verdict {
        for depth in &self.depths {
            depth
                .set(&mut self.store, Val::I32(DEPTH))
                .expect("it is a mutable i32");
        }
        match directive {
            WastDirective::Module(module) => {
                let name = module.name();
                let compiled = encoded(module).and_then(|wasm| self.compile(&wasm));
                let slot = compiled.and_then(|module| match self.instantiate(&module)? {
                    Ok(instance) => Ok(instance),
                    Err(error) => Err(format!("does not start: {error:#}")),
                });
                self.put(name, slot)
            }
            WastDirective::ModuleDefinition(module) => {
                let name = module.name();
                let compiled = encoded(module).and_then(|wasm| self.compile(&wasm));
                self.latest = compiled.clone();
                if let Some(name) = name {
                    self.definitions.insert(name.name().to_string(), compiled);
                }
                Verdict::Silent
            }
            WastDirective::ModuleInstance {
                instance, module, ..
            } => {
                let found = match module {
                    Some(id) => self
                        .definitions
                        .get(id.name())
                        .cloned()
                        .unwrap_or(Err("no such definition".into())),
                    None => self.latest.clone(),
                };
                let slot = found.and_then(|module| {
                    self.instantiate(&module)?
                        .map_err(|error| format!("{error:#}"))
                });
                self.put(*instance, slot)
            }
            WastDirective::Register { name, module, .. } => {
                match self.slot(*module) {
                    Ok(instance) => {
                        self.registered.remove(*name);
                        self.linker
                            .instance(&mut self.store, name, instance)
                            .expect("shadowing is allowed");
                    }
                    Err(reason) => {
                        self.registered.insert(name.to_string(), reason);
                    }
                }
                Verdict::Silent
            }
            WastDirective::Invoke(invoke) => match self.invoke(invoke) {
                Answer::Error(error) => Verdict::Fail(format!("{error:#}")),
                _ => Verdict::Silent,
            },
            WastDirective::AssertReturn { exec, results, .. } => match self.execute(exec) {
                Answer::Values(values) => values::compare(&mut self.store, &values, results),
                Answer::Error(error) => Verdict::Fail(format!("{error:#}")),
                Answer::Missing(reason) => Verdict::Excluded(reason),
            },
            WastDirective::AssertTrap { exec, .. } => trapped(self.execute(exec)),
            WastDirective::AssertExhaustion { call, .. } => trapped(self.invoke(call)),
            WastDirective::AssertException { exec, .. } => match self.execute(exec) {
                Answer::Error(error) if error.is::<ThrownException>() => {
                    self.store.as_context_mut().take_pending_exception();
                    Verdict::Pass("exception".into())
                }
                Answer::Error(error) => Verdict::Fail(format!("{error:#}")),
                Answer::Values(values) => Verdict::Fail(format!("returned {values:?}")),
                Answer::Missing(reason) => Verdict::Excluded(reason),
            },
            WastDirective::AssertUnlinkable { module, .. } => {
                let wasm = module.encode().map_err(|error| error.to_string());
                match wasm
                    .and_then(|wasm| self.compile(&wasm))
                    .and_then(|module| self.instantiate(&module))
                {
                    Ok(Ok(_)) => Verdict::Fail("it links".into()),
                    Ok(Err(error)) if error.is::<Trap>() => Verdict::Fail(format!("{error:#}")),
                    Ok(Err(_)) => Verdict::Pass("does not link".into()),
                    Err(reason) => Verdict::Excluded(reason),
                }
            }
            WastDirective::AssertInvalid { module, .. }
            | WastDirective::AssertMalformed { module, .. } => {
                let Ok(wasm) = encoded(module) else {
                    return Verdict::Silent;
                };
                match self.probes {
                    None if Module::from_binary(&self.engine, &wasm).is_err() => {
                        Verdict::Pass("refused".into())
                    }
                    Some(probes) if instrument(&wasm, probes).is_err() => {
                        Verdict::Pass("refused".into())
                    }
                    _ => Verdict::Fail("it is not refused".into()),
                }
            }
            _ => Verdict::Silent,
        }
    }

    fn compile(&mut self, wasm: &[u8]) -> Result<Module, String> {
        let module = Module::from_binary(&self.engine, wasm);
        let compiled = match (module, self.probes) {
            (Err(error), _) => Err(format!("wasmtime refuses it: {}", last(&error))),
            (Ok(module), None) => Ok(module),
            (Ok(module), Some(probes)) => match instrument(wasm, probes) {
                Ok(made) => Ok(
                    Module::from_binary(&self.engine, &made.wasm).unwrap_or_else(|error| {
                        // Whatever `instrument` makes of a valid module has to be one.
                        panic!("the instrumented module does not compile: {}", last(&error))
                    }),
                ),
                Err(error) => {
                    // What it writes to the tables and memories of others before it fails.
                    let _ = self.linker.instantiate(&mut self.store, &module);
                    Err(format!("we refuse it: {error}"))
                }
            },
        };
        match &compiled {
            Ok(_) => self.instrumented += 1,
            Err(reason) => *self.refused.entry(reason.clone()).or_default() += 1,
        }
        compiled
    }

    /// The outer error is a reason to leave out what depends on the module.
    fn instantiate(&mut self, module: &Module) -> Result<Result<Instance, Error>, String> {
        if let Some(reason) = module
            .imports()
            .find_map(|import| self.registered.get(import.module()))
        {
            return Err(reason.clone());
        }
        let made = self.linker.instantiate(&mut self.store, module);
        if let Ok(instance) = &made
            && let Some(depth) = instance.get_global(&mut self.store, "__sandglass_depth")
        {
            self.depths.push(depth);
        }
        Ok(made)
    }

    fn put(&mut self, name: Option<Id<'_>>, slot: Slot) -> Verdict {
        if let Some(name) = name {
            self.named.insert(name.name().to_string(), slot.clone());
        }
        self.current = slot;
        Verdict::Silent
    }

    fn slot(&self, name: Option<Id<'_>>) -> Slot {
        match name {
            None => self.current.clone(),
            Some(id) => self
                .named
                .get(id.name())
                .cloned()
                .unwrap_or(Err("there is no such module".into())),
        }
    }

    fn execute(&mut self, exec: &mut WastExecute<'_>) -> Answer {
        match exec {
            WastExecute::Invoke(invoke) => self.invoke(invoke),
            WastExecute::Get { module, global, .. } => {
                let instance = match self.slot(*module) {
                    Ok(instance) => instance,
                    Err(reason) => return Answer::Missing(reason),
                };
                match instance.get_export(&mut self.store, global) {
                    Some(Extern::Global(global)) => {
                        Answer::Values(vec![global.get(&mut self.store)])
                    }
                    _ => Answer::Error(Error::msg(format!("no global `{global}`"))),
                }
            }
            WastExecute::Wat(module) => {
                let compiled = match module.encode() {
                    Ok(wasm) => self.compile(&wasm),
                    Err(error) => Err(error.to_string()),
                };
                match compiled.and_then(|module| self.instantiate(&module)) {
                    Ok(Ok(_)) => Answer::Values(vec![]),
                    Ok(Err(error)) => Answer::Error(error),
                    Err(reason) => Answer::Missing(reason),
                }
            }
        }
    }

    fn invoke(&mut self, invoke: &WastInvoke<'_>) -> Answer {
        let instance = match self.slot(invoke.module) {
            Ok(instance) => instance,
            Err(reason) => return Answer::Missing(reason),
        };
        let Some(func) = instance.get_func(&mut self.store, invoke.name) else {
            return Answer::Error(Error::msg(format!("no function `{}`", invoke.name)));
        };
        let ty = func.ty(&self.store);
        let mut args = Vec::new();
        for (arg, ty) in invoke.args.iter().zip(ty.params()) {
            match arg {
                WastArg::Core(WastArgCore::RefNull(_)) => {
                    let ValType::Ref(ty) = ty else {
                        return Answer::Error(Error::msg("a null for a number"));
                    };
                    args.push(Val::null_ref(ty.heap_type()));
                }
                WastArg::Core(arg) => match values::argument(&mut self.store, arg) {
                    Ok(value) => args.push(value),
                    Err(error) => return Answer::Error(error),
                },
                _ => return Answer::Missing("an argument of the component model".into()),
            }
        }
        let mut results = vec![Val::I32(0); ty.results().len()];
        match func.call(&mut self.store, &args, &mut results) {
            Ok(()) => Answer::Values(results),
            Err(error) => Answer::Error(error),
        }
    }
}

fn encoded(module: &mut QuoteWat<'_>) -> Result<Vec<u8>, String> {
    match module.to_test() {
        Ok(QuoteWatTest::Binary(wasm)) => Ok(wasm),
        // Text that must not parse says nothing of what is done to binaries.
        Ok(QuoteWatTest::Text(text)) => {
            let text = String::from_utf8(text).map_err(|error| error.to_string())?;
            wat::parse_str(text).map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The innermost message, on one line.
fn last(error: &Error) -> String {
    error
        .root_cause()
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_string()
}

/// Passes if the action trapped, with the kind of the trap.
fn trapped(answer: Answer) -> Verdict {
    match answer {
        Answer::Error(error) => match error.downcast_ref::<Trap>() {
            Some(trap) => Verdict::Pass(format!("{trap:?}")),
            None if error.is::<Overflow>() => Verdict::Pass(format!("{:?}", Trap::StackOverflow)),
            None => Verdict::Fail(format!("{error:#}")),
        },
        Answer::Values(values) => Verdict::Fail(format!("returned {values:?}")),
        Answer::Missing(reason) => Verdict::Excluded(reason),
    }
}

/// The depth limit was met.
#[derive(Debug)]
struct Overflow;

impl std::fmt::Display for Overflow {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("call depth")
    }
}

impl std::error::Error for Overflow {}

/// What instrumented modules import.
fn host(linker: &mut Linker<()>) -> wasmtime::Result<()> {
    linker.func_wrap(HOST_MODULE, "visit", || {})?;
    linker.func_wrap(HOST_MODULE, "unreachable", |_: i32| {})?;
    linker.func_wrap(HOST_MODULE, "overflow", || -> wasmtime::Result<()> {
        Err(Error::from(Overflow))
    })?;
    linker.func_wrap(HOST_MODULE, "floor", |_: i64| i64::MIN)?;
    linker.func_wrap(
        HOST_MODULE,
        "compare",
        |_: i32, _: i32, _: i32, _: i32, _: i32| {},
    )?;
    Ok(())
}

/// What the modules of the test suite import.
fn spectest(linker: &mut Linker<()>, store: &mut Store<()>) -> wasmtime::Result<()> {
    linker.func_wrap("spectest", "print", || {})?;
    linker.func_wrap("spectest", "print_i32", |_: i32| {})?;
    linker.func_wrap("spectest", "print_i64", |_: i64| {})?;
    linker.func_wrap("spectest", "print_f32", |_: f32| {})?;
    linker.func_wrap("spectest", "print_f64", |_: f64| {})?;
    linker.func_wrap("spectest", "print_i32_f32", |_: i32, _: f32| {})?;
    linker.func_wrap("spectest", "print_f64_f64", |_: f64, _: f64| {})?;
    let globals = [
        ("global_i32", ValType::I32, Val::I32(666)),
        ("global_i64", ValType::I64, Val::I64(666)),
        ("global_f32", ValType::F32, Val::F32(666.6_f32.to_bits())),
        ("global_f64", ValType::F64, Val::F64(666.6_f64.to_bits())),
    ];
    for (name, ty, value) in globals {
        let global = Global::new(&mut *store, GlobalType::new(ty, Mutability::Const), value)?;
        linker.define(&mut *store, "spectest", name, global)?;
    }
    let table = Table::new(
        &mut *store,
        TableType::new(RefType::FUNCREF, 10, Some(20)),
        Ref::Func(None),
    )?;
    linker.define(&mut *store, "spectest", "table", table)?;
    let table = Table::new(
        &mut *store,
        TableType::new64(RefType::FUNCREF, 10, Some(20)),
        Ref::Func(None),
    )?;
    linker.define(&mut *store, "spectest", "table64", table)?;
    let memory = Memory::new(&mut *store, MemoryType::new(1, Some(2)))?;
    linker.define(&mut *store, "spectest", "memory", memory)?;
    Ok(())
}
