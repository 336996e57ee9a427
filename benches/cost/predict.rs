//! What nobody can run: Perun's published sizes at which the costliest input is past any limit of fuel, by the exact laws
//! that the same family follows as far as it can be measured.

use sandglass_benches::println;
use std::sync::Arc;

use sandglass_engine::laws::Tier;
use sandglass_engine::laws::pump::Pump;
use sandglass_runtime::growth::measure;
use sandglass_sandbox::{FUEL_LIMIT_MAX, Limits, on_guest_thread};

use crate::Result;
use crate::campaign::Prepared;
use crate::cases::CASES;

/// A case whose family of one letter has a law, and how many letters are asked for: as many as fit the sizes of Perun's
/// tables before a line's end.
const ASKED: &[(&str, &[u64])] = &[
    ("e-mail", &[17, 24, 36]),
    ("Java class", &[18, 35, 77]),
    ("Java class, Oniguruma", &[18, 35, 77]),
];

/// The letter.
const LETTER: &[u8] = b"a";

/// Prints the law of each case's family, how far it was seen to hold, and what it says of the sizes that are asked for.
pub(crate) fn predict() -> Result<()> {
    println!("| case | law of n letters | seen to | n | fuel by the law | × seed | can be run |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | --- |");
    for (name, asked) in ASKED {
        let case = CASES.iter().find(|case| case.name == *name);
        let prepared = Prepared::new(case.ok_or("no such case")?)?;
        let seed = prepared.cost(&prepared.seed)?.fuel;
        let limits = Limits {
            fuel: FUEL_LIMIT_MAX,
            ..Limits::STANDARD
        };
        let pump = Pump {
            start: 0,
            end: LETTER.len(),
            count: 1,
        };
        let target = Arc::clone(&prepared.target);
        let report = on_guest_thread(|| measure(&target, &limits, LETTER, pump))?;
        let Tier::Exact(exact) = &report.total.tier else {
            return Err(format!("{name}: expected an exact law, got {:?}", report.total).into());
        };
        let seen = exact
            .certificates
            .last()
            .map_or(0, |certificate| certificate.n);
        for n in *asked {
            let fuel = exact.law.predict(*n).ok_or("past 128 bits")?;
            let fits = match fuel <= i128::from(FUEL_LIMIT_MAX) {
                true => "yes",
                false => "no",
            };
            println!(
                "| {name} | {} | {seen} | {n} | {fuel} | {:.4e} | {fits} |",
                exact.law,
                fuel as f64 / seed as f64
            );
        }
    }
    Ok(())
}
