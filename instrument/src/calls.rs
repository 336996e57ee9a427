//! The call graph: which functions may recurse, which may throw, and which may draw.
//!
//! An indirect call may reach every function of its type that has its address taken. All
//! answers err on the side of "yes".

use sandglass_abi as abi;
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::{self, Instr};
use walrus::{
    ConstExpr, ElementItems, FunctionId, FunctionKind, GlobalKind, ImportKind, Module, TypeId,
    ValType,
};

use crate::emit::sequences;

/// What the passes want to know of each function.
pub(crate) struct CallGraph {
    recursive: BTreeSet<FunctionId>,
    throwing: BTreeSet<FunctionId>,
    indirect_throws: bool,
    drawing: BTreeSet<FunctionId>,
    indirect_draws: bool,
    /// All functions of the module, those that are called before those that call them; in a cycle in any order.
    order: Vec<FunctionId>,
    graph: Graph,
}

impl CallGraph {
    pub(crate) fn new(module: &Module) -> CallGraph {
        let graph = Graph::new(module);
        let (recursive, order) = graph.recursive();
        let throwing = if module.tags.iter().next().is_some() {
            graph.reaching(graph.throws.clone())
        } else {
            BTreeSet::new()
        };
        let indirect_throws = throwing.iter().any(|f| graph.address_taken.contains(f));
        let draws = draws(module);
        let drawing = if draws.is_empty() {
            draws
        } else {
            graph.reaching(draws)
        };
        let indirect_draws = drawing.iter().any(|f| graph.address_taken.contains(f));
        CallGraph {
            recursive,
            throwing,
            indirect_throws,
            drawing,
            indirect_draws,
            order,
            graph,
        }
    }

    /// The module's own functions, each after those that it calls; in a cycle of calls in any order.
    pub(crate) fn callees_first(&self) -> &[FunctionId] {
        &self.order
    }

    /// Whom an indirect call of this function may reach.
    pub(crate) fn called_indirectly(&self, func: FunctionId) -> impl Iterator<Item = FunctionId> {
        let signatures = self.graph.indirect.get(&func).into_iter().flatten();
        signatures.flat_map(|signature| self.graph.by_signature[*signature].iter().copied())
    }

    /// May a call of `func` be active twice at once?
    pub(crate) fn is_recursive(&self, func: FunctionId) -> bool {
        self.recursive.contains(&func)
    }

    /// May this call end in an exception?
    pub(crate) fn may_throw(&self, instr: &Instr) -> bool {
        match instr {
            Instr::Call(ir::Call { func }) => self.throwing.contains(func),
            Instr::CallIndirect(_) | Instr::CallRef(_) => self.indirect_throws,
            _ => false,
        }
    }

    /// Is this a draw, or a call that may come to one?
    pub(crate) fn may_draw(&self, instr: &Instr) -> bool {
        match instr {
            Instr::Call(ir::Call { func }) | Instr::ReturnCall(ir::ReturnCall { func }) => {
                self.drawing.contains(func)
            }
            Instr::CallIndirect(_)
            | Instr::CallRef(_)
            | Instr::ReturnCallIndirect(_)
            | Instr::ReturnCallRef(_) => self.indirect_draws,
            _ => false,
        }
    }
}

/// The functions from which a call can come to one of `roots`, and these; and whether an indirect call
/// can.
pub(crate) fn callers_of(
    module: &Module,
    roots: BTreeSet<FunctionId>,
) -> (BTreeSet<FunctionId>, bool) {
    let graph = Graph::new(module);
    let found = graph.reaching(roots);
    let indirect = found.iter().any(|f| graph.address_taken.contains(f));
    (found, indirect)
}

/// `roots`, and the functions that nobody but these and each other can call.
pub(crate) fn only_called_by(module: &Module, roots: BTreeSet<FunctionId>) -> BTreeSet<FunctionId> {
    let graph = Graph::new(module);
    let mut callers: BTreeMap<FunctionId, Vec<FunctionId>> = BTreeMap::new();
    for (&caller, callees) in &graph.callees {
        for &callee in callees {
            callers.entry(callee).or_default().push(caller);
        }
    }
    let exported = module
        .exports
        .iter()
        .filter_map(|export| match export.item {
            walrus::ExportItem::Function(func) => Some(func),
            _ => None,
        });
    let mut open = exported.collect::<BTreeSet<_>>();
    open.extend(module.start);
    open.extend(&graph.address_taken);
    let mut found = roots;
    loop {
        let more = callers.iter().filter(|(callee, callers)| {
            let is_inside = callers.iter().all(|caller| found.contains(caller));
            is_inside && !open.contains(*callee) && !found.contains(*callee)
        });
        let more = more.map(|(callee, _)| *callee).collect::<Vec<_>>();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

type Signature = (Vec<ValType>, Vec<ValType>);

struct Graph {
    callees: BTreeMap<FunctionId, BTreeSet<FunctionId>>,
    indirect: BTreeMap<FunctionId, BTreeSet<usize>>,
    by_signature: Vec<Vec<FunctionId>>,
    throws: BTreeSet<FunctionId>,
    address_taken: BTreeSet<FunctionId>,
}

impl Graph {
    fn new(module: &Module) -> Graph {
        let mut address_taken = address_taken(module);
        let mut callees: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let mut indirect: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let mut throws = BTreeSet::new();
        let mut signatures: Vec<Signature> = Vec::new();
        let mut signature_index = |ty: TypeId| {
            let (params, results) = module.types.params_results(ty);
            let wanted = (params.to_vec(), results.to_vec());
            signatures
                .iter()
                .position(|s| *s == wanted)
                .unwrap_or_else(|| {
                    signatures.push(wanted);
                    signatures.len() - 1
                })
        };
        for func in module.funcs.iter() {
            let FunctionKind::Local(body) = &func.kind else {
                continue;
            };
            let direct = callees.entry(func.id()).or_default();
            let through = indirect.entry(func.id()).or_default();
            for seq in sequences(body) {
                for (instr, _) in &body.block(seq).instrs {
                    match instr {
                        Instr::Call(ir::Call { func })
                        | Instr::ReturnCall(ir::ReturnCall { func }) => {
                            direct.insert(*func);
                        }
                        Instr::CallIndirect(ir::CallIndirect { ty, .. })
                        | Instr::ReturnCallIndirect(ir::ReturnCallIndirect { ty, .. })
                        | Instr::CallRef(ir::CallRef { ty })
                        | Instr::ReturnCallRef(ir::ReturnCallRef { ty }) => {
                            through.insert(signature_index(*ty));
                        }
                        Instr::RefFunc(ir::RefFunc { func }) => {
                            address_taken.insert(*func);
                        }
                        Instr::Throw(_) | Instr::ThrowRef(_) => {
                            throws.insert(func.id());
                        }
                        _ => {}
                    }
                }
            }
        }
        let mut by_signature = vec![Vec::new(); signatures.len()];
        for &func in &address_taken {
            let (params, results) = module.types.params_results(module.funcs.get(func).ty());
            if let Some(index) = signatures
                .iter()
                .position(|s| s.0 == params && s.1 == results)
            {
                by_signature[index].push(func);
            }
        }
        Graph {
            callees,
            indirect,
            by_signature,
            throws,
            address_taken,
        }
    }

    fn successors(&self, func: FunctionId) -> Vec<FunctionId> {
        let mut found: BTreeSet<FunctionId> = self.callees.get(&func).cloned().unwrap_or_default();
        for &signature in self.indirect.get(&func).into_iter().flatten() {
            found.extend(&self.by_signature[signature]);
        }
        found.into_iter().collect()
    }

    /// Tarjan's algorithm without recursion: functions in a cycle of calls, and the module's own functions, those that are called
    /// first.
    fn recursive(&self) -> (BTreeSet<FunctionId>, Vec<FunctionId>) {
        let mut order: BTreeMap<FunctionId, (u32, u32)> = BTreeMap::new(); // index, low link
        let mut stack: Vec<FunctionId> = Vec::new();
        let mut on_stack: BTreeSet<FunctionId> = BTreeSet::new();
        let (mut found, mut done) = (BTreeSet::new(), Vec::new());
        for &root in self.callees.keys() {
            if order.contains_key(&root) {
                continue;
            }
            let mut work: Vec<(FunctionId, Vec<FunctionId>)> = Vec::new();
            let mut enter = Some(root);
            loop {
                if let Some(node) = enter.take() {
                    let index = order.len() as u32;
                    order.insert(node, (index, index));
                    stack.push(node);
                    on_stack.insert(node);
                    work.push((node, self.successors(node)));
                }
                let Some((node, rest)) = work.last_mut() else {
                    break;
                };
                let node = *node;
                if let Some(next) = rest.pop() {
                    if !order.contains_key(&next) {
                        enter = Some(next);
                    } else if on_stack.contains(&next) {
                        let low = order[&node].1.min(order[&next].0);
                        order.insert(node, (order[&node].0, low));
                        if next == node {
                            found.insert(node);
                        }
                    }
                    continue;
                }
                work.pop();
                let (index, low) = order[&node];
                if let Some((parent, _)) = work.last() {
                    let (parent_index, parent_low) = order[parent];
                    order.insert(*parent, (parent_index, parent_low.min(low)));
                }
                if index == low {
                    let start = stack
                        .iter()
                        .rposition(|f| *f == node)
                        .expect("a root is on the stack");
                    let component = stack.split_off(start);
                    for member in &component {
                        on_stack.remove(member);
                    }
                    let own = component.iter().filter(|f| self.callees.contains_key(f));
                    done.extend(own);
                    if component.len() > 1 {
                        found.extend(component);
                    }
                }
            }
        }
        (found, done)
    }

    /// Functions from which one of these can be reached, and these; a handler on the way is not
    /// looked at.
    fn reaching(&self, mut found: BTreeSet<FunctionId>) -> BTreeSet<FunctionId> {
        loop {
            let before = found.len();
            for &func in self.callees.keys() {
                if !found.contains(&func) && self.successors(func).iter().any(|f| found.contains(f))
                {
                    found.insert(func);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }
}

/// The imports that answer draws.
fn draws(module: &Module) -> BTreeSet<FunctionId> {
    let imports = module.imports.iter();
    let found = imports.filter_map(|import| match import.kind {
        ImportKind::Function(func)
            if import.module == abi::IMPORT_MODULE && abi::DRAWS.contains(&&*import.name) =>
        {
            Some(func)
        }
        _ => None,
    });
    found.collect()
}

pub(crate) fn address_taken(module: &Module) -> BTreeSet<FunctionId> {
    let mut found = BTreeSet::new();
    let mut look = |expr: &ConstExpr| match expr {
        ConstExpr::RefFunc(func) => {
            found.insert(*func);
        }
        ConstExpr::Extended(ops) => {
            for op in ops {
                if let walrus::ConstOp::RefFunc(func) = op {
                    found.insert(*func);
                }
            }
        }
        _ => {}
    };
    for global in module.globals.iter() {
        if let GlobalKind::Local(init) = &global.kind {
            look(init);
        }
    }
    let mut listed = Vec::new();
    for element in module.elements.iter() {
        match &element.items {
            ElementItems::Functions(funcs) => listed.extend(funcs.iter().copied()),
            ElementItems::Expressions(_, exprs) => exprs.iter().for_each(&mut look),
        }
    }
    found.extend(listed);
    found
}
