//! What tests of draws share: what the engine's shrinking makes of them, natively.

use std::vec::Vec;

use sandglass_engine::choice::{ChoiceNode, ChoiceSequence, Domain as Of, Draw, Role};
use sandglass_engine::shrink::shrink;

use crate::native::{Choice, Domain, Drawn, Outcome, Run, Source, run};

/// Tests that one shrinking may make; what is drawn here needs a few dozen.
const EXECS_MAX: u64 = 10_000;

/// What a trial comes to when its choices are as simple as they get and it still holds. It must hold for those that were
/// found; it draws integers and booleans.
pub(crate) fn shrunk<T>(found: Vec<Choice>, trial: fn() -> T, holds: impl Fn(&T) -> bool) -> T {
    let replay = |choices: Vec<Choice>| -> Option<(T, ChoiceSequence)> {
        let Run { outcome, drawn, .. } = run(Source::Recorded(choices), trial);
        match outcome {
            Outcome::Done(made) if holds(&made) => Some((made, sequence(&drawn))),
            _ => None,
        }
    };
    let (_, start) = replay(found).expect("it holds for what was found");
    let shrunk = shrink(start, EXECS_MAX, &mut |candidate| {
        let drawn = replay(answers(candidate)).map(|(_, drawn)| drawn);
        Ok::<_, std::convert::Infallible>(drawn)
    });
    let Ok(shrunk) = shrunk;
    assert!(shrunk.is_minimal);
    let (made, _) = replay(answers(&shrunk.choices)).expect("what was drawn then");
    made
}

fn sequence(drawn: &[Drawn]) -> ChoiceSequence {
    let node = |drawn: &Drawn| {
        let (domain, value) = match (drawn.domain, &drawn.choice) {
            (Domain::Int { lo, hi }, Choice::Int(number)) => {
                (Of::Int { lo, hi }, number.cast_unsigned())
            }
            (Domain::Bool { num, den }, Choice::Bool(coin)) => {
                (Of::Bool { num, den }, u64::from(*coin))
            }
            other => panic!("neither an integer nor a boolean: {other:?}"),
        };
        let draw = Draw {
            site: drawn.site,
            role: Role::Unknown,
            domain,
        };
        ChoiceNode {
            draw,
            bits: value,
            value,
        }
    };
    ChoiceSequence {
        nodes: drawn.iter().map(node).collect(),
        ..ChoiceSequence::default()
    }
}

fn answers(choices: &ChoiceSequence) -> Vec<Choice> {
    let answer = |node: &ChoiceNode| match node.draw.domain {
        Of::Bool { .. } => Choice::Bool(node.value != 0),
        _ => Choice::Int(node.value.cast_signed()),
    };
    choices.nodes.iter().map(answer).collect()
}
