//! One-byte commands: log in with the right pin, unlock twice, then crash; a wrong command logs out.
#![no_std]
mod planted;
use planted::{INVALID, VALID, fault};

#[derive(Clone, Copy)]
enum State {
    Out,
    In,
    HalfOpen,
    Open,
}

fn target(data: &[u8]) -> i32 {
    let mut state = State::Out;
    let mut accepted = false;
    let mut commands = data.iter();
    while let Some(command) = commands.next() {
        state = match (state, command) {
            (State::Out, b'L') => match commands.next() {
                Some(0x2D) => State::In,
                _ => State::Out,
            },
            (State::In, b'U') => State::HalfOpen,
            (State::HalfOpen, b'U') => State::Open,
            (State::Open, b'C') => fault(),
            (state, b'N') => state,
            _ => State::Out,
        };
        accepted |= !matches!(state, State::Out);
    }
    if accepted { VALID } else { INVALID }
}
