//! The call stacks of many runs as one tree, by name, for one or two sets of runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use sandglass_sandbox::ProfileNode;

/// Nodes of a tree; what there is no room for keeps its function and loses its callers.
const NODES_MAX: usize = 1 << 18;

/// Characters of a name that reports show: stacks repeat it.
const NAME_CHARS: usize = 160;

/// Which of two sets of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that is asked about.
    Now = 0,
    /// The one that it is compared with.
    Before = 1,
}

impl Side {
    /// Both.
    pub const ALL: [Side; 2] = [Side::Now, Side::Before];
}

/// A call stack, and what it cost in each set of runs.
#[derive(Clone, Debug)]
pub struct Node {
    /// The caller's; its own for the first.
    pub parent: usize,
    /// Its function: a position in [`Tree::names`].
    pub name: usize,
    /// Fuel of the function itself.
    pub own: [u64; 2],
    /// Fuel of the function and what it called.
    pub inclusive: [u64; 2],
    /// How often it was entered.
    pub calls: [u64; 2],
}

/// What a function cost, over all its stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCost {
    /// Its name: functions of one name are one.
    pub name: Arc<str>,
    /// Fuel of its own.
    pub own: [u64; 2],
    /// Fuel of its own and of what it called; recursion counts once.
    pub inclusive: [u64; 2],
    /// How often it was entered.
    pub calls: [u64; 2],
}

/// Call stacks; callers come before callees, the first node stands for all.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Names of functions: printable, and shortened.
    pub names: Vec<Arc<str>>,
    /// The stacks.
    pub nodes: Vec<Node>,
    by_name: BTreeMap<Arc<str>, usize>,
    by_call: BTreeMap<(usize, usize), usize>,
}

impl Tree {
    /// Adds the stacks of a run, callers first.
    pub fn add(
        &mut self,
        stacks: &[ProfileNode],
        side: Side,
        name: &mut dyn FnMut(sandglass_sandbox::ProfileFrame) -> Arc<str>,
    ) {
        let mut places: Vec<usize> = Vec::with_capacity(stacks.len());
        for (number, stack) in stacks.iter().enumerate() {
            let name = self.name(name(stack.frame));
            let place = match number {
                0 => self.root(name),
                _ => self.child(places[stack.parent as usize], name),
            };
            places.push(place);
            let node = &mut self.nodes[place];
            node.own[side as usize] += stack.fuel;
            node.calls[side as usize] += stack.calls;
        }
    }

    fn name(&mut self, text: Arc<str>) -> usize {
        let names = &mut self.names;
        let next = names.len();
        *self.by_name.entry(text).or_insert_with_key(|text| {
            names.push(Arc::clone(text));
            next
        })
    }

    fn root(&mut self, name: usize) -> usize {
        if self.nodes.is_empty() {
            self.push(0, name);
        }
        0
    }

    fn child(&mut self, parent: usize, name: usize) -> usize {
        if let Some(node) = self.by_call.get(&(parent, name)) {
            return *node;
        }
        // A full tree takes further functions, but no further stacks.
        let parent = if self.nodes.len() < NODES_MAX {
            parent
        } else {
            0
        };
        if let Some(node) = self.by_call.get(&(parent, name)) {
            return *node;
        }
        self.push(parent, name)
    }

    fn push(&mut self, parent: usize, name: usize) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node {
            parent,
            name,
            own: [0; 2],
            inclusive: [0; 2],
            calls: [0; 2],
        });
        if node > 0 {
            self.by_call.insert((parent, name), node);
        }
        node
    }

    /// Works out inclusive fuel, once all runs are in.
    pub fn finish(&mut self) {
        for node in &mut self.nodes {
            node.inclusive = node.own;
        }
        for at in (1..self.nodes.len()).rev() {
            let (parent, inclusive) = (self.nodes[at].parent, self.nodes[at].inclusive);
            for side in Side::ALL {
                self.nodes[parent].inclusive[side as usize] += inclusive[side as usize];
            }
        }
    }

    /// Fuel of all stacks.
    pub fn total(&self, side: Side) -> u64 {
        self.nodes
            .first()
            .map_or(0, |root| root.inclusive[side as usize])
    }

    /// The name of a node.
    pub fn name_of(&self, node: usize) -> &Arc<str> {
        &self.names[self.nodes[node].name]
    }

    /// The nodes above one, innermost first, without the first of all.
    pub fn callers(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let above = |at: usize| Some(self.nodes[at].parent).filter(|parent| *parent != 0);
        std::iter::successors(above(node), move |at| above(*at))
    }

    /// The functions, the costliest first by own fuel, then by inclusive fuel and by name.
    pub fn functions(&self) -> Vec<FunctionCost> {
        let cost = |name: &Arc<str>| FunctionCost {
            name: Arc::clone(name),
            own: [0; 2],
            inclusive: [0; 2],
            calls: [0; 2],
        };
        let mut found: Vec<FunctionCost> = self.names.iter().map(cost).collect();
        for (at, node) in self.nodes.iter().enumerate().skip(1) {
            let is_outermost = !self
                .callers(at)
                .any(|caller| self.nodes[caller].name == node.name);
            let function = &mut found[node.name];
            for side in Side::ALL.map(|side| side as usize) {
                function.own[side] += node.own[side];
                function.calls[side] += node.calls[side];
                if is_outermost {
                    function.inclusive[side] += node.inclusive[side];
                }
            }
        }
        found.retain(|function| function.calls != [0; 2]);
        found.sort_by(|a, b| {
            let rank = |f: &FunctionCost| (f.own, f.inclusive);
            rank(b).cmp(&rank(a)).then_with(|| a.name.cmp(&b.name))
        });
        found
    }
}

/// A name as reports show it. Of a long one the middle is left out: it begins with where the function
/// belongs, arguments of templates included, and ends with which one it is.
pub(super) fn short(name: &str) -> Arc<str> {
    let chars = name.chars().count();
    if chars <= NAME_CHARS {
        return Arc::from(name);
    }
    let place = |nth| {
        name.char_indices()
            .nth(nth)
            .map_or(name.len(), |(at, _)| at)
    };
    let (head, tail) = (place(NAME_CHARS / 2), place(chars - NAME_CHARS / 2));
    Arc::from(format!("{}…{}", &name[..head], &name[tail..]))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use sandglass_sandbox::ProfileFrame;

    #[test]
    fn long_names_keep_both_ends() {
        let name = |method| format!("std::tree<{}>::{method}", "ä".repeat(NAME_CHARS));
        assert!(short(&name("find")).ends_with("ä>::find"));
        assert_ne!(short(&name("find")), short(&name("insert")));
        assert_eq!(short(&name("find")).chars().count(), NAME_CHARS + 1);
        assert_eq!(&*short("main"), "main");
    }

    /// Stacks as (caller, function, fuel); the first is the root.
    pub(in crate::profile) fn tree(stacks: &[(u32, u32, u64)]) -> Tree {
        let mut tree = Tree::default();
        add(&mut tree, stacks, Side::Now);
        tree.finish();
        tree
    }

    fn add(tree: &mut Tree, stacks: &[(u32, u32, u64)], side: Side) {
        let root = ProfileNode {
            parent: 0,
            frame: ProfileFrame::Root,
            fuel: 0,
            calls: 0,
        };
        let node = |&(parent, function, fuel): &(u32, u32, u64)| ProfileNode {
            parent,
            frame: ProfileFrame::Function(function),
            fuel,
            calls: 1,
        };
        let nodes: Vec<_> = [root].into_iter().chain(stacks.iter().map(node)).collect();
        tree.add(&nodes, side, &mut |frame| match frame {
            ProfileFrame::Function(n) => Arc::from(format!("f{n}")),
            _ => Arc::from("all"),
        });
    }

    #[test]
    fn sums_go_up_to_the_first_node() {
        let tree = tree(&[(0, 1, 10), (1, 2, 5), (2, 3, 1), (1, 3, 2)]);
        assert_eq!(tree.total(Side::Now), 18);
        let functions = tree.functions();
        let found: Vec<_> = functions
            .iter()
            .map(|f| (&*f.name, f.own[0], f.inclusive[0], f.calls[0]))
            .collect();
        assert_eq!(found, [("f1", 10, 18, 1), ("f2", 5, 6, 1), ("f3", 3, 3, 2)]);
    }

    #[test]
    fn a_name_below_itself_counts_once() {
        let mut tree = Tree::default();
        let name = |frame: ProfileFrame| match frame {
            ProfileFrame::Root => Arc::from("all"),
            _ => Arc::from("same"),
        };
        let node = |parent, frame, fuel| ProfileNode {
            parent,
            frame,
            fuel,
            calls: 1,
        };
        let nodes = [
            node(0, ProfileFrame::Root, 0),
            node(0, ProfileFrame::Function(1), 3),
            node(1, ProfileFrame::Function(2), 4),
        ];
        tree.add(&nodes, Side::Now, &mut { name });
        tree.finish();
        assert_eq!(tree.functions()[0].inclusive, [7, 0]);
    }

    #[test]
    fn two_sides_meet_in_one_tree() {
        let mut tree = Tree::default();
        add(&mut tree, &[(0, 1, 10), (1, 2, 5)], Side::Now);
        add(&mut tree, &[(0, 1, 1), (1, 3, 7)], Side::Before);
        tree.finish();
        assert_eq!((tree.total(Side::Now), tree.total(Side::Before)), (15, 8));
        assert_eq!(tree.nodes.len(), 4);
    }
}
