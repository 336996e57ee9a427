//! Live: one instance of a program, with handles to what a run needs of it.

use std::sync::Arc;

use wasmtime::{Instance, Memory, Store, TypedFunc};

use crate::ending::imported_functions;
use crate::error::SandboxError;
use crate::heap::Heap;
use crate::host::Host;
use crate::labels::{DependenceLimits, Labels, Shadow};
use crate::memory::{Plan, with_plan};
use crate::pages::Region;
use crate::program::{EntryKind, Program};

/// Handles into the current instance.
pub(crate) struct Live {
    pub(crate) store: Store<Host>,
    pub(crate) run: Run,
    pub(crate) memories: Vec<Memory>,
    /// The guest's memories, in index order.
    pub(crate) regions: Vec<Arc<Region>>,
    /// Their marks, in the same order, if the build has marks.
    pub(crate) marks: Vec<Arc<Region>>,
    pub(crate) side: Arc<Region>,
    /// Everything that instantiation asked memory for, in that order; `None` is wasmtime's own.
    pub(crate) asked: Vec<Option<Arc<Region>>>,
}

/// What a run calls.
#[derive(Clone)]
pub(crate) enum Run {
    Reactor(TypedFunc<(u32, u32), i32>),
    Answering(TypedFunc<(), i32>),
    Silent(TypedFunc<(), ()>),
}

/// Instantiates `program` on the memories of `plan`.
///
/// # Errors
/// When wasmtime refuses.
pub(crate) fn instantiate(program: &Program, host: Host, plan: Plan) -> Result<Live, SandboxError> {
    let mut store = Store::new(program.module.engine(), host);
    store.limiter(|host| &mut host.tables);
    let (instance, made) = with_plan(plan, || program.pre.instantiate(&mut store));
    let failed = |error: wasmtime::Error| SandboxError::Instantiate(format!("{error:#}"));
    let instance = instance.map_err(failed)?;
    let run = match program.entry {
        EntryKind::Reactor => Run::Reactor(
            instance
                .get_typed_func(&mut store, "__sandglass_run")
                .map_err(failed)?,
        ),
        EntryKind::Property => Run::Answering(
            instance
                .get_typed_func(&mut store, "__sandglass_run")
                .map_err(failed)?,
        ),
        EntryKind::Command | EntryKind::Generator => Run::Silent(
            instance
                .get_typed_func(&mut store, "__sandglass_run")
                .map_err(failed)?,
        ),
    };
    // wasmtime may have asked for memories of its own (the heap of exceptions): ours are the ones
    // that lie where an export of ours does.
    let mut find = |name: &str| {
        let memory = instance.get_memory(&mut store, name)?;
        let region = made
            .iter()
            .find(|region| region.base() == memory.data_ptr(&store))?;
        Some((memory, region.clone()))
    };
    let guests = (0..program.map.memories).map(|n| find(&format!("__sandglass_memory_{n}")));
    let guests = guests
        .collect::<Option<Vec<_>>>()
        .expect("the entry pass exports every memory");
    let (memories, regions): (Vec<_>, Vec<_>) = guests.into_iter().unzip();
    let marks = (0..)
        .map_while(|n| find(&format!("__sandglass_marks_{n}")))
        .map(|(_, region)| region)
        .collect::<Vec<_>>();
    let (_, side) = find("__sandglass_side").expect("every program has a side memory");
    let shadow = find("__sandglass_shadow").map(|(_, region)| region);
    let labels = find("__sandglass_labels").map(|(_, memory)| {
        let shadows = (0..).map_while(|n| {
            let (_, labels) = find(&format!("__sandglass_shadow_{n}"))?;
            let (_, touched) = find(&format!("__sandglass_touched_{n}"))?;
            Some(Shadow { labels, touched })
        });
        let labels = Labels {
            memory,
            shadows: shadows.collect(),
            map: program.map.clone(),
        };
        labels.begin(DependenceLimits::STANDARD);
        labels
    });
    // Those of labels are not taken over: a new instance has none yet.
    let ours = |region: &Arc<Region>| {
        let known = regions.iter().chain(&marks).chain(&shadow).chain([&side]);
        known
            .into_iter()
            .any(|r| Arc::ptr_eq(r, region))
            .then(|| region.clone())
    };
    let asked = made.iter().map(ours).collect();
    let host = store.data_mut();
    if host.heap.is_none()
        && let (Some(map), Some(shadow)) = (&program.map.heap, shadow)
    {
        let keeps = program.build.keeps_allocations();
        let imported = keeps.then(|| imported_functions(program));
        let guest = regions[0].clone();
        let marks = marks.first().cloned();
        host.heap = Some(Heap::new(map, shadow, guest, marks, imported));
    }
    host.memory = memories.first().copied();
    host.marks = marks.first().cloned();
    host.side = Some(side.clone());
    host.labels = labels;
    host.instance = Some(instance);
    Ok(Live {
        store,
        run,
        memories,
        regions,
        marks,
        side,
        asked,
    })
}

impl Host {
    /// The instance that this state belongs to.
    pub(crate) fn instance(&self) -> Instance {
        self.instance.expect("set when it is instantiated")
    }
}
