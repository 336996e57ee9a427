//! Records: a campaign that has ended, as a line of JSON, and back.

use std::collections::BTreeMap;
use std::path::Path;

use sandglass_benches::results;
use sandglass_runtime::cover::Share;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Result;
use crate::campaign::{First, Reached};
use crate::programs::find;

/// Executions, and lines reached by then; ascending.
pub(crate) type Curve = Vec<(u64, u64)>;

/// What tells a campaign from all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) program: &'static str,
    /// The guidance with its settings, `codep freeze=off` say.
    pub(crate) arm: String,
    /// Which rows it began with.
    pub(crate) rows: String,
    pub(crate) execs: u64,
    pub(crate) seed: u64,
}

/// A campaign that has ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) key: Key,
    pub(crate) reached: Reached,
    /// Of the program that ran it.
    pub(crate) commit: String,
}

impl Record {
    /// All campaigns of a file; none if it is not there.
    pub(crate) fn all(path: &Path) -> Result<Vec<Record>> {
        if !path.exists() {
            return Ok(Vec::new());
        }
        let objects = results::read(path, "dataflow");
        let record = |object: &Value| {
            Record::read(object).ok_or_else(|| format!("{}: {object}", path.display()).into())
        };
        objects.iter().map(record).collect()
    }

    /// The object; whoever adds it to a file adds the commit.
    pub(crate) fn write(&self) -> Value {
        let (key, reached) = (&self.key, &self.reached);
        let faults: BTreeMap<_, _> = (reached.faults.iter())
            .map(|(fault, first)| (fault, json!([first.exec, first.cpu_s])))
            .collect();
        json!({
            "row": "dataflow", "program": key.program, "arm": key.arm, "rows": key.rows,
            "budget": key.execs, "seed": key.seed,
            "execs": reached.execs, "valid": reached.valid,
            "lines": [reached.lines.reached, reached.lines.all],
            "lines_paced": reached.lines_paced, "missed": reached.missed,
            "arms_paced": reached.arms_paced, "curve": reached.curve,
            "operators": [reached.operators.reached, reached.operators.all],
            "faults": faults, "cpu_s": reached.cpu_s, "state_hash": reached.state_hash,
        })
    }

    fn read(object: &Value) -> Option<Record> {
        let text = |key: &str| object[key].as_str().map(str::to_owned);
        let number = |key: &str| object[key].as_u64();
        let share = |key: &str| {
            Some(Share {
                reached: object[key][0].as_u64()?,
                all: object[key][1].as_u64()?,
            })
        };
        let first = |(fault, first): (&String, &Value)| {
            let (exec, cpu_s) = (first[0].as_u64()?, first[1].as_f64()?);
            Some((fault.clone(), First { exec, cpu_s }))
        };
        Some(Record {
            key: Key {
                program: find(object["program"].as_str()?)?.name,
                arm: text("arm")?,
                rows: text("rows")?,
                execs: number("budget")?,
                seed: number("seed")?,
            },
            reached: Reached {
                lines: share("lines")?,
                missed: if_there(&object["missed"]).ok()?,
                arms_paced: if_there(&object["arms_paced"]).ok()?,
                curve: if_there(&object["curve"]).ok()?.unwrap_or_default(),
                lines_paced: number("lines_paced")?,
                operators: share("operators")?,
                faults: object["faults"]
                    .as_object()?
                    .iter()
                    .map(first)
                    .collect::<Option<_>>()?,
                valid: number("valid")?,
                execs: number("execs")?,
                cpu_s: object["cpu_s"].as_f64()?,
                state_hash: text("state_hash")?,
            },
            commit: text("commit")?,
        })
    }
}

/// A field that older rows do not have.
fn if_there<T: DeserializeOwned>(field: &Value) -> serde_json::Result<Option<T>> {
    match field {
        Value::Null => Ok(None),
        field => serde_json::from_value(field.clone()).map(Some),
    }
}

impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (key, reached) = (&self.key, &self.reached);
        let faults: Vec<_> = (reached.faults.iter())
            .map(|(fault, first)| format!("{fault}@{}", first.exec))
            .collect();
        write!(
            f,
            "{:4} {} seed {}: {} execs, {} valid, {:.1} s, {} of {} lines, {}",
            key.program,
            key.arm,
            key.seed,
            reached.execs,
            reached.valid,
            reached.cpu_s,
            reached.lines.reached,
            reached.lines.all,
            faults.join(" "),
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A campaign that reached so many of 100 lines, and these faults by an execution.
    pub(crate) fn record(
        (program, arm): (&'static str, &str),
        seed: u64,
        execs: u64,
        lines: u64,
        faults: &[(&str, u64)],
    ) -> Record {
        let first = |&(fault, exec): &(&str, u64)| {
            let cpu_s = exec as f64 / 1_000.0;
            (fault.to_owned(), First { exec, cpu_s })
        };
        Record {
            key: Key {
                program,
                arm: arm.to_owned(),
                rows: "Reduced".to_owned(),
                execs,
                seed,
            },
            reached: Reached {
                lines: Share {
                    reached: lines,
                    all: 100,
                },
                lines_paced: lines,
                missed: Some(vec![13]),
                arms_paced: Some((0..lines as u32).map(|line| (line, 0)).collect()),
                curve: vec![(execs / 2, lines / 2), (execs, lines)],
                operators: Share {
                    reached: 4 * lines,
                    all: 500,
                },
                faults: faults.iter().map(first).collect(),
                valid: 1,
                execs,
                cpu_s: 0.5,
                state_hash: "abc".to_owned(),
            },
            commit: "c0".to_owned(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let record = record(("p2", "codep freeze=off"), 3, 700, 93, &[("2.2", 7)]);
        let mut object = record.write();
        assert_eq!(Record::read(&object), None);
        object["commit"] = "c0".into();
        assert_eq!(Record::read(&object), Some(record));
        // As rows were before statements and branches were counted.
        let fields = object.as_object_mut().expect("it is one");
        for field in ["missed", "arms_paced", "curve"] {
            fields.remove(field);
        }
        let old = Record::read(&object).expect("it is still read");
        assert_eq!((old.reached.missed, old.reached.arms_paced), (None, None));
        assert!(old.reached.curve.is_empty());
        object["program"] = "p99".into();
        assert_eq!(Record::read(&object), None);
    }
}
