//! The costliest stack of a slow input: the calls that spent most of its fuel themselves.
//!
//! In: an input that a campaign found slow. Out: one call stack, by which it is told from other slow inputs. It
//! is run once more, in the build that adds up fuel by call stack. A recursion is one frame, however deep.

use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::Detail;
use sandglass_instrument::symbols::{Frame, Symbols};
use sandglass_sandbox::{Build, Limits, ProfileFrame, ProfileNode, Sandbox};

use super::Target;
use super::drawn::again;
use crate::error::OurFault;
use crate::stack::Ending;

/// Profiles slow inputs. Compiled when first needed: many campaigns find none.
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
        if matches!(self.made, Made::NotYet) {
            self.made = self.make()?;
        }
        let Made::Yes(made) = &mut self.made else {
            return Ok(Ending::default());
        };
        let (sandbox, symbols) = &mut **made;
        let profiled = match &detail.choices {
            Some(choices) if self.target.is_property() => sandbox.profile_drawn(again(choices)),
            _ => sandbox.profile(detail.target_input()),
        };
        Ok(Ending {
            frames: costliest(&profiled.profile.nodes, symbols),
            ..Ending::default()
        })
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

/// The stack of the node that spent most; of several, of the one that was entered first.
fn costliest(nodes: &[ProfileNode], symbols: &Symbols) -> Vec<Frame> {
    let mut most: Option<&ProfileNode> = None;
    for node in nodes {
        let is_function = matches!(node.frame, ProfileFrame::Function(_));
        if is_function && most.is_none_or(|most| node.fuel > most.fuel) {
            most = Some(node);
        }
    }
    let mut frames = Vec::new();
    let mut at = most;
    // Callers come before callees, and those whose caller is not known hang below a node that is no function.
    while let Some(node) = at
        && let ProfileFrame::Function(index) = node.frame
    {
        frames.extend(symbols.frames_of(index));
        at = nodes.get(node.parent as usize);
    }
    frames
}
