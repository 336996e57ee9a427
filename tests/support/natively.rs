//! Generators and properties run natively, with the engine answering their draws: no module, no sandbox.

use std::cell::RefCell;
use std::rc::Rc;

use sandglass_engine::choice::{ChoiceNode, Domain, Draw, Role, Span, label_id};
use sandglass_engine::{ChoiceSequence, Source};
use sandglass_sdk::native::{self, Choice, Run, run_answered};

/// Runs a function that draws: its run, and what it drew as the engine records it.
pub fn run<T>(source: Source, generator: fn() -> T) -> (Run<T>, ChoiceSequence) {
    let drawn = Rc::new(RefCell::new((source, ChoiceSequence::default())));
    let answers = Rc::clone(&drawn);
    let ran = run_answered(
        move |site, role, domain| {
            let (source, choices) = &mut *answers.borrow_mut();
            let draw = Draw {
                site,
                role: Role::from_code(role as i32),
                domain: asked(domain),
            };
            let from = choices.payload.len();
            let answer = source.answer(&draw, &mut choices.payload)?;
            choices.nodes.push(ChoiceNode {
                draw,
                bits: answer.bits,
                value: answer.value,
            });
            Some(match draw.domain {
                Domain::Bool { .. } => Choice::Bool(answer.value == 1),
                Domain::Int { .. } => Choice::Int(answer.value.cast_signed()),
                Domain::Float { .. } => Choice::Float(f64::from_bits(answer.value)),
                Domain::Bytes { .. } => Choice::Bytes(choices.payload[from..].to_vec()),
            })
        },
        generator,
    );
    let (_, mut choices) = Rc::into_inner(drawn).expect("the run is over").into_inner();
    choices.spans = (ran.spans.iter())
        .map(|span| Span {
            label: label_id(span.label.as_bytes()),
            first: span.from as u32,
            end: span.to as u32,
            depth: span.level as u32,
            discarded: span.discarded,
        })
        .collect();
    (ran, choices)
}

fn asked(domain: native::Domain) -> Domain {
    match domain {
        native::Domain::Bool { num, den } => Domain::Bool { num, den },
        native::Domain::Int { lo, hi } => Domain::Int { lo, hi },
        native::Domain::Float { lo, hi } => Domain::float(lo, hi),
        native::Domain::Bytes { min, max } => Domain::Bytes {
            min: min as u32,
            max: max as u32,
        },
    }
}
