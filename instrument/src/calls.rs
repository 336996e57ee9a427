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

    /// The types that a function calls indirectly, by number.
    pub(crate) fn types(&self, func: FunctionId) -> impl Iterator<Item = usize> {
        self.graph.types(func)
    }

    /// Whom an indirect call of each type may reach, by number.
    pub(crate) fn by_type(&self) -> impl Iterator<Item = impl Iterator<Item = FunctionId>> {
        let functions = &self.graph.functions;
        let arcs = self.graph.arcs[functions.len()..].iter();
        arcs.map(|arcs| arcs.iter().map(|node| functions[*node]))
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
    // By function: how many call it that nobody has found yet.
    let count = graph.functions.len();
    let mut strangers = vec![0_usize; count];
    let direct = |node: usize| graph.arcs[node].iter().filter(move |to| **to < count);
    for node in 0..count {
        direct(node).for_each(|callee| strangers[*callee] += 1);
    }
    let mut waiting: Vec<usize> = roots.iter().map(|func| graph.node(*func)).collect();
    let mut found = roots;
    while let Some(node) = waiting.pop() {
        for &callee in direct(node) {
            strangers[callee] -= 1;
            let func = graph.functions[callee];
            if strangers[callee] == 0 && !open.contains(&func) && found.insert(func) {
                waiting.push(callee);
            }
        }
    }
    found
}

/// Who calls whom. An indirect call leads to its type, and the type to all of its functions that have their address taken, so
/// that there are as many arcs as there are calls, not calls times functions.
struct Graph {
    /// Ascending; a function's node is its index, and the types come behind them.
    functions: Vec<FunctionId>,
    /// By node: where its arcs lead, ascending and without repetitions.
    arcs: Vec<Vec<usize>>,
    /// By node of a function: whether it is the module's own.
    is_own: Vec<bool>,
    throws: BTreeSet<FunctionId>,
    address_taken: BTreeSet<FunctionId>,
}

impl Graph {
    fn new(module: &Module) -> Graph {
        let mut address_taken = address_taken(module);
        let mut throws = BTreeSet::new();
        let mut functions: Vec<FunctionId> =
            module.funcs.iter().map(walrus::Function::id).collect();
        functions.sort_unstable();
        let mut arcs = vec![Vec::new(); functions.len()];
        let mut is_own = vec![false; functions.len()];
        let node = |func: FunctionId| functions.binary_search(&func).expect("all are listed");
        let mut types = Types::default();
        for func in module.funcs.iter() {
            let FunctionKind::Local(body) = &func.kind else {
                continue;
            };
            let at = node(func.id());
            is_own[at] = true;
            for seq in sequences(body) {
                for (instr, _) in &body.block(seq).instrs {
                    match instr {
                        Instr::Call(ir::Call { func })
                        | Instr::ReturnCall(ir::ReturnCall { func }) => {
                            arcs[at].push(node(*func));
                        }
                        Instr::CallIndirect(ir::CallIndirect { ty, .. })
                        | Instr::ReturnCallIndirect(ir::ReturnCallIndirect { ty, .. })
                        | Instr::CallRef(ir::CallRef { ty })
                        | Instr::ReturnCallRef(ir::ReturnCallRef { ty }) => {
                            arcs[at].push(functions.len() + types.number(module, *ty));
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
        let called = types.signatures.len();
        arcs.resize(functions.len() + called, Vec::new());
        for &func in &address_taken {
            let number = types.number(module, module.funcs.get(func).ty());
            // Of the other types nothing is called indirectly.
            if number < called {
                arcs[functions.len() + number].push(node(func));
            }
        }
        for arcs in &mut arcs {
            arcs.sort_unstable();
            arcs.dedup();
        }
        Graph {
            functions,
            arcs,
            is_own,
            throws,
            address_taken,
        }
    }

    fn node(&self, func: FunctionId) -> usize {
        let found = self.functions.binary_search(&func);
        found.expect("all functions are listed")
    }

    /// The types that a function calls indirectly, by number.
    fn types(&self, func: FunctionId) -> impl Iterator<Item = usize> {
        let arcs = self.arcs[self.node(func)].iter();
        arcs.filter_map(|to| to.checked_sub(self.functions.len()))
    }

    /// Tarjan's algorithm without recursion: functions in a cycle of calls, and the module's own functions, those that are called
    /// first.
    fn recursive(&self) -> (BTreeSet<FunctionId>, Vec<FunctionId>) {
        const NEW: u32 = u32::MAX;
        let mut index = vec![NEW; self.arcs.len()];
        let mut low = vec![NEW; self.arcs.len()];
        let mut is_on_stack = vec![false; self.arcs.len()];
        let (mut stack, mut count) = (Vec::new(), 0);
        let (mut found, mut done) = (BTreeSet::new(), Vec::new());
        let own = |node: usize| {
            let func = *self.functions.get(node)?;
            self.is_own[node].then_some(func)
        };
        for root in (0..self.functions.len()).filter(|node| self.is_own[*node]) {
            if index[root] != NEW {
                continue;
            }
            // Nodes that are being looked at, with how many of their arcs are left.
            let mut work: Vec<(usize, usize)> = Vec::new();
            let mut enter = Some(root);
            loop {
                if let Some(node) = enter.take() {
                    (index[node], low[node]) = (count, count);
                    count += 1;
                    stack.push(node);
                    is_on_stack[node] = true;
                    work.push((node, self.arcs[node].len()));
                }
                let Some((node, left)) = work.last_mut() else {
                    break;
                };
                let node = *node;
                if *left > 0 {
                    *left -= 1;
                    let next = self.arcs[node][*left];
                    if index[next] == NEW {
                        enter = Some(next);
                    } else if is_on_stack[next] {
                        low[node] = low[node].min(index[next]);
                        if next == node {
                            found.extend(own(node));
                        }
                    }
                    continue;
                }
                work.pop();
                if let Some((parent, _)) = work.last() {
                    low[*parent] = low[*parent].min(low[node]);
                }
                if index[node] == low[node] {
                    let start = stack
                        .iter()
                        .rposition(|other| *other == node)
                        .expect("a root is on the stack");
                    let component = stack.split_off(start);
                    for member in &component {
                        is_on_stack[*member] = false;
                    }
                    done.extend(component.iter().filter_map(|member| own(*member)));
                    if component.len() > 1 {
                        found.extend(component.iter().filter_map(|member| own(*member)));
                    }
                }
            }
        }
        (found, done)
    }

    /// Functions from which one of these can be reached, and these; a handler on the way is not
    /// looked at.
    fn reaching(&self, mut found: BTreeSet<FunctionId>) -> BTreeSet<FunctionId> {
        let mut back = vec![Vec::new(); self.arcs.len()];
        for (from, arcs) in self.arcs.iter().enumerate() {
            for &to in arcs {
                back[to].push(from);
            }
        }
        let mut is_found = vec![false; self.arcs.len()];
        let mut waiting: Vec<usize> = found.iter().map(|func| self.node(*func)).collect();
        while let Some(node) = waiting.pop() {
            if std::mem::replace(&mut is_found[node], true) {
                continue;
            }
            found.extend(self.functions.get(node));
            waiting.append(&mut back[node]);
        }
        found
    }
}

/// Types of functions by number; those with the same parameters and results are one.
#[derive(Default)]
struct Types {
    signatures: BTreeMap<(Vec<ValType>, Vec<ValType>), usize>,
    known: BTreeMap<TypeId, usize>,
}

impl Types {
    fn number(&mut self, module: &Module, ty: TypeId) -> usize {
        *self.known.entry(ty).or_insert_with(|| {
            let (params, results) = module.types.params_results(ty);
            let signature = (params.to_vec(), results.to_vec());
            let next = self.signatures.len();
            *self.signatures.entry(signature).or_insert(next)
        })
    }
}

/// The imports that answer draws.
pub(crate) fn draws(module: &Module) -> BTreeSet<FunctionId> {
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
