//! Where the fuel of a run went, as one call stack, by which slow inputs and endless loops are told apart.
//!
//! In: an input that a campaign found slow, or that ran out of fuel. Out: the calls that spent most themselves, or those
//! that it was in nearly all the time. It is run once more, in the build that adds up fuel by call stack. A recursion is
//! one frame, however deep.

use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::{ChoiceSequence, Detail};
use sandglass_instrument::symbols::{Frame, Symbols};
use sandglass_sandbox::{Build, Limits, ProfileFrame, ProfileNode, Sandbox};

use super::Target;
use super::drawn::again;
use crate::error::OurFault;
use crate::stack::Ending;

/// Profiles them. Compiled when first needed: many campaigns find none.
pub struct Costliest {
    target: Arc<Target>,
    limits: Limits,
    made: Made,
}

enum Made {
    NotYet,
    Yes(Box<(Sandbox, Symbols)>),
    /// The target cannot be built for profiles.
    Never,
}

impl Costliest {
    /// For a target, under these limits.
    pub fn new(target: &Arc<Target>, limits: &Limits) -> Costliest {
        Costliest {
            target: Arc::clone(target),
            limits: *limits,
            made: Made::NotYet,
        }
    }

    /// Where a run spent most, innermost frame first; no frames where the target cannot be built for profiles. On a
    /// guest thread only.
    pub fn stack(&mut self, detail: &Detail) -> Result<Ending> {
        let given = match &detail.choices {
            Some(choices) if self.target.is_property() => Given::Choices(choices),
            _ => Given::Input(detail.target_input()),
        };
        Ok(Ending {
            frames: self.profile(given, costliest)?,
            ..Ending::default()
        })
    }

    /// The calls under which a run spent nine tenths of its fuel, innermost frame first; no frames as above. Where its fuel
    /// ran out may be any function that a loop calls: this is the one with the loop. On a guest thread only.
    pub(super) fn looping(&mut self, given: Given<'_>) -> Result<Vec<Frame>> {
        self.profile(given, looping)
    }

    fn profile(
        &mut self,
        given: Given<'_>,
        find: fn(&[ProfileNode]) -> Option<&ProfileNode>,
    ) -> Result<Vec<Frame>> {
        if matches!(self.made, Made::NotYet) {
            self.made = self.make()?;
        }
        let Made::Yes(made) = &mut self.made else {
            return Ok(Vec::new());
        };
        let (sandbox, symbols) = &mut **made;
        let profiled = match given {
            Given::Choices(choices) => sandbox.profile_drawn(again(choices)),
            Given::Input(input) => sandbox.profile(input),
        };
        let nodes = &profiled.profile.nodes;
        Ok(stack_of(find(nodes), nodes, symbols))
    }

    fn make(&self) -> Result<Made> {
        match self.target.sandbox(Build::Profile, &self.limits) {
            Ok(sandbox) => {
                let symbols = Symbols::new(&self.target.module.wasm);
                Ok(Made::Yes(Box::new((sandbox, symbols))))
            }
            Err(error) if error.downcast_ref::<OurFault>().is_some() => Err(error),
            Err(_) => Ok(Made::Never),
        }
    }
}

/// What a run is of.
pub(super) enum Given<'a> {
    Input(&'a [u8]),
    /// Of a property, or of a generator.
    Choices(&'a ChoiceSequence),
}

/// The node that spent most itself; of several, the one that was entered first.
fn costliest(nodes: &[ProfileNode]) -> Option<&ProfileNode> {
    let mut most: Option<&ProfileNode> = None;
    for node in nodes {
        if is_function(node) && most.is_none_or(|most| node.fuel > most.fuel) {
            most = Some(node);
        }
    }
    most
}

/// The innermost node that, with all that it called, spent nine tenths. Such nodes are on one stack.
fn looping(nodes: &[ProfileNode]) -> Option<&ProfileNode> {
    let mut inclusive = nodes.iter().map(|node| node.fuel).collect::<Vec<_>>();
    // Callers come before callees, and the first is its own.
    for (place, node) in nodes.iter().enumerate().skip(1).rev() {
        inclusive[node.parent as usize] += inclusive[place];
    }
    let all = inclusive.first().copied().unwrap_or(0);
    let is_looping = |fuel: u64| u128::from(fuel) * 10 >= u128::from(all) * 9;
    let mut with_fuel = nodes.iter().zip(inclusive).rev();
    let found = with_fuel.find(|(node, fuel)| is_function(node) && is_looping(*fuel));
    found.map(|(node, _)| node)
}

fn is_function(node: &ProfileNode) -> bool {
    matches!(node.frame, ProfileFrame::Function(_))
}

fn stack_of(node: Option<&ProfileNode>, nodes: &[ProfileNode], symbols: &Symbols) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut at = node;
    // Those whose caller is not known hang below a node that is no function.
    while let Some(node) = at
        && let ProfileFrame::Function(index) = node.frame
    {
        frames.extend(symbols.frames_of(index));
        at = nodes.get(node.parent as usize);
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parent: u32, function: u32, fuel: u64) -> ProfileNode {
        ProfileNode {
            parent,
            frame: ProfileFrame::Function(function),
            fuel,
            calls: 1,
        }
    }

    #[test]
    fn a_loop_is_where_nearly_all_was_spent_with_what_it_called() {
        let entry = ProfileNode {
            frame: ProfileFrame::Root,
            ..node(0, 0, 0)
        };
        // 1 calls 2 and 5; 2 loops, and calls 3 and 4 by turns.
        let nodes = [
            entry,
            node(0, 1, 10),
            node(1, 2, 300),
            node(2, 3, 400),
            node(2, 4, 250),
            node(1, 5, 40),
        ];
        assert_eq!(looping(&nodes).map(|node| node.frame), Some(nodes[2].frame));
        assert_eq!(
            costliest(&nodes).map(|node| node.frame),
            Some(nodes[3].frame)
        );
        assert!(looping(&nodes[..1]).is_none() && looping(&[]).is_none());
    }
}
