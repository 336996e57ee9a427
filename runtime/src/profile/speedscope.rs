//! A profile in the file format of speedscope (<https://www.speedscope.app>), which is JSON.

use serde::Serialize;

use super::Profile;
use super::stacks::{FRAMES_MAX, REST, stacks};
use super::tree::{Side, Tree};

#[derive(Serialize)]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: &'a str,
    shared: Shared<'a>,
    profiles: Vec<Sampled>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    r#type: &'static str,
    name: &'static str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// The file; `name` is what it is a profile of.
pub fn speedscope(profile: &Profile, name: &str) -> String {
    let names = profile.tree.names.iter().map(|name| &**name);
    let mut profiles = vec![sampled(&profile.tree, Side::Now, "fuel")];
    if !profile.base.is_empty() {
        profiles.push(sampled(&profile.tree, Side::Before, "fuel, compared with"));
    }
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: concat!("sandglass ", env!("CARGO_PKG_VERSION")),
        name,
        shared: Shared {
            frames: names.chain([REST]).map(|name| Frame { name }).collect(),
        },
        profiles,
    };
    serde_json::to_string(&file).expect("numbers and text")
}

/// A sample for each stack, weighing what it spent itself; one more for those without room.
fn sampled(tree: &Tree, side: Side, name: &'static str) -> Sampled {
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    let stacks = stacks(tree, side, FRAMES_MAX);
    for at in stacks.kept {
        let node = &tree.nodes[at];
        let mut stack = vec![node.name];
        stack.extend(tree.callers(at).map(|caller| tree.nodes[caller].name));
        stack.reverse();
        samples.push(stack);
        weights.push(node.own[side as usize]);
    }
    if stacks.rest > 0 {
        samples.push(vec![tree.names.len()]);
        weights.push(stacks.rest);
    }
    Sampled {
        r#type: "sampled",
        name,
        unit: "none",
        start_value: 0,
        end_value: tree.total(side),
        samples,
        weights,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::tree::tests::tree;

    /// What speedscope's schema asks of a sampled profile.
    #[test]
    fn samples_name_frames_that_are_there_and_weigh_what_all_costs() {
        let profile = Profile {
            tree: tree(&[(0, 1, 10), (1, 2, 50), (2, 3, 40)]),
            ..Profile::default()
        };
        let file: serde_json::Value =
            serde_json::from_str(&speedscope(&profile, "an input")).expect("it is JSON");
        assert_eq!(file["name"], "an input");
        let frames: Vec<_> = (file["shared"]["frames"].as_array().expect("frames").iter())
            .map(|frame| frame["name"].as_str().expect("a name"))
            .collect();
        let [profile] = &**file["profiles"].as_array().expect("profiles") else {
            panic!("{file}");
        };
        assert_eq!(
            (&profile["type"], &profile["unit"]),
            (&"sampled".into(), &"none".into())
        );
        assert_eq!(
            (&profile["startValue"], &profile["endValue"]),
            (&0.into(), &100.into())
        );
        // Callers first, as the format wants them.
        let samples: Vec<Vec<&str>> = (profile["samples"].as_array().expect("samples").iter())
            .map(|sample| {
                let sample = sample.as_array().expect("a stack").iter();
                sample
                    .map(|at| frames[at.as_u64().expect("an index") as usize])
                    .collect()
            })
            .collect();
        let stacks = [&["f1"][..], &["f1", "f2"], &["f1", "f2", "f3"]];
        assert!(
            samples.iter().all(|sample| stacks.contains(&&sample[..])),
            "{samples:?}"
        );
        assert_eq!(samples.len(), stacks.len());
        let weights: Vec<u64> = (profile["weights"].as_array().expect("weights").iter())
            .map(|weight| weight.as_u64().expect("a weight"))
            .collect();
        assert_eq!((weights.len(), weights.iter().sum::<u64>()), (3, 100));
    }
}
