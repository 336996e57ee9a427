//! What tests of draws share: shrinking as the engine does it (`runtime/engine/src/shrink/lower.rs`), as far as single
//! numbers and coins go. It takes what fails and comes back with what fails and cannot be lowered.

use std::vec::Vec;

use crate::native::Choice;

/// Numbers next to 0 that are tried one by one, and numbers next to what was found.
const NEAR: i64 = 4;

/// Lowers each choice towards 0 and false for as long as something holds. What is no answer to its draw must not hold.
pub(crate) fn shrunk(mut choices: Vec<Choice>, holds: impl Fn(&[Choice]) -> bool) -> Vec<Choice> {
    assert!(holds(&choices), "{choices:?}");
    loop {
        let before = choices.clone();
        for at in 0..choices.len() {
            let mut take = |choice: Choice| {
                let mut candidate = choices.clone();
                candidate[at] = choice;
                let taken = holds(&candidate);
                if taken {
                    choices = candidate;
                }
                taken
            };
            match before[at] {
                Choice::Bool(true) => {
                    take(Choice::Bool(false));
                }
                Choice::Int(number) => lower(number, &mut |number| take(Choice::Int(number))),
                _ => {}
            }
        }
        if choices == before {
            return choices;
        }
    }
}

fn lower(number: i64, take: &mut dyn FnMut(i64) -> bool) {
    if number == 0 || take(0) {
        return;
    }
    for distance in 1..=NEAR {
        for near in [distance, -distance] {
            if near == number || take(near) {
                return;
            }
        }
    }
    if number < 0 && number > i64::MIN && take(-number) {
        return lower(-number, take);
    }
    let (mut bad, mut good) = (0_i128, i128::from(number));
    while good.abs_diff(bad) > 1 {
        let middle = bad + (good - bad) / 2;
        if take(middle as i64) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    for step in 2..=NEAR {
        let nearer = good as i64 - good.signum() as i64 * step;
        if take(nearer) {
            return lower(nearer, take);
        }
    }
}
