//! Which campaigns may be summed up together: those of a guidance on a program that began with the same rows and were
//! given as many executions, each of another seed.
//!
//! In: campaigns of any files, and which of them are wanted. Out: those, or what does not go together: a median over
//! campaigns of two sorts is of neither. Guidances may differ from each other in both, as the published ones did.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;

use crate::Result;
use crate::record::Record;

/// Which campaigns are wanted.
#[derive(Args, Default)]
pub(crate) struct Wanted {
    /// Only campaigns that began with these rows, `Reduced` or `Weak`
    #[arg(long, value_name = "NAME")]
    rows: Option<String>,
    /// Only campaigns that were given so many executions
    #[arg(long, value_name = "N")]
    execs: Option<u64>,
}

/// Those that are wanted; errs if they are not alike.
pub(crate) fn alike(mut records: Vec<Record>, wanted: &Wanted) -> Result<Vec<Record>> {
    records.retain(|record| {
        let key = &record.key;
        wanted.rows.as_ref().is_none_or(|rows| *rows == key.rows)
            && wanted.execs.is_none_or(|execs| execs == key.execs)
    });
    match complaint(&records) {
        Some(complaint) => Err(complaint.into()),
        None => Ok(records),
    }
}

/// What is wrong with them together.
fn complaint(records: &[Record]) -> Option<String> {
    let mut sorts: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let mut keys = BTreeSet::new();
    for Record { key, .. } in records {
        let (program, arm, seed) = (key.program, &key.arm, key.seed);
        if !keys.insert(key) {
            return Some(format!(
                "{program} {arm} seed {seed}: twice, expected each campaign once"
            ));
        }
        let of = sorts.entry((program, arm)).or_default();
        of.insert((&key.rows, key.execs));
    }
    if sorts.is_empty() {
        return Some("no campaigns, expected at least one that is wanted".to_owned());
    }
    let ((program, arm), sorts) = sorts.iter().find(|(_, sorts)| sorts.len() > 1)?;
    let choices: Vec<String> = (sorts.iter())
        .map(|(rows, execs)| format!("--rows {rows} --execs {execs}"))
        .collect();
    Some(format!(
        "{program} {arm}: campaigns of {} sorts, expected one; choose with {}",
        sorts.len(),
        choices.join(" or ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn campaigns_of_two_sorts_are_not_summed_up() {
        let of = |seed, execs| record(("p2", "codep"), seed, execs, 90, &[]);
        let mut weak = of(1, 700);
        weak.key.rows = "Weak".to_owned();
        let told = |records: &[Record], wanted| match alike(records.to_vec(), &wanted) {
            Ok(records) => format!("{} of them", records.len()),
            Err(error) => error.to_string(),
        };
        let all = Wanted::default;
        let jazzer = record(("p2", "jazzer"), 1, 900, 90, &[]);
        let fine = [of(1, 700), of(2, 700), jazzer];
        assert_eq!(told(&fine, all()), "3 of them");
        let mixed = [&fine[..], &[weak, of(3, 800)]].concat();
        assert_eq!(
            told(&mixed, all()),
            "p2 codep: campaigns of 3 sorts, expected one; choose with \
             --rows Reduced --execs 700 or --rows Reduced --execs 800 or --rows Weak --execs 700"
        );
        let wanted = |rows: &str, execs| Wanted {
            rows: Some(rows.to_owned()),
            execs,
        };
        assert_eq!(told(&mixed, wanted("Weak", None)), "1 of them");
        assert_eq!(told(&mixed, wanted("Reduced", Some(700))), "2 of them");
        assert_eq!(
            told(&mixed, wanted("Own", None)),
            "no campaigns, expected at least one that is wanted"
        );
        assert_eq!(
            told(&[&fine[..], &[of(2, 700)]].concat(), all()),
            "p2 codep seed 2: twice, expected each campaign once"
        );
    }
}
