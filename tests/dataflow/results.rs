//! What the programs of `guests/dataflow` make of the inputs on which they run through.

#![expect(
    unreachable_pub,
    reason = "the programs are modules of their own elsewhere"
)]

#[path = "../../guests/dataflow/p1.rs"]
mod p1;
#[path = "../../guests/dataflow/p10.rs"]
mod p10;
#[path = "../../guests/dataflow/p10h.rs"]
mod p10h;
#[path = "../../guests/dataflow/p11.rs"]
mod p11;
#[path = "../../guests/dataflow/p11h.rs"]
mod p11h;
#[path = "../../guests/dataflow/p12.rs"]
mod p12;
#[path = "../../guests/dataflow/p12h.rs"]
mod p12h;
#[path = "../../guests/dataflow/p13.rs"]
mod p13;
#[path = "../../guests/dataflow/p13h.rs"]
mod p13h;
#[path = "../../guests/dataflow/p14.rs"]
mod p14;
#[path = "../../guests/dataflow/p14h.rs"]
mod p14h;
#[path = "../../guests/dataflow/p15.rs"]
mod p15;
#[path = "../../guests/dataflow/p16.rs"]
mod p16;
#[path = "../../guests/dataflow/p16h.rs"]
mod p16h;
#[path = "../../guests/dataflow/p17.rs"]
mod p17;
#[path = "../../guests/dataflow/p17h.rs"]
mod p17h;
#[path = "../../guests/dataflow/p1h.rs"]
mod p1h;
#[path = "../../guests/dataflow/p2.rs"]
mod p2;
#[path = "../../guests/dataflow/p2h.rs"]
mod p2h;
#[path = "../../guests/dataflow/p3.rs"]
mod p3;
#[path = "../../guests/dataflow/p3h.rs"]
mod p3h;
#[path = "../../guests/dataflow/p4.rs"]
mod p4;
#[path = "../../guests/dataflow/p4h.rs"]
mod p4h;
#[path = "../../guests/dataflow/p5.rs"]
mod p5;
#[path = "../../guests/dataflow/p5h.rs"]
mod p5h;
#[path = "../../guests/dataflow/p5s.rs"]
mod p5s;
#[path = "../../guests/dataflow/p6.rs"]
mod p6;
#[path = "../../guests/dataflow/p6h.rs"]
mod p6h;
#[path = "../../guests/dataflow/p7.rs"]
mod p7;
#[path = "../../guests/dataflow/p7h.rs"]
mod p7h;
#[path = "../../guests/dataflow/p8.rs"]
mod p8;
#[path = "../../guests/dataflow/p9.rs"]
mod p9;
#[path = "../../guests/dataflow/p9h.rs"]
mod p9h;

use sandglass_sdk::flow::Sets;

use super::inputs::{RUNS, input};

/// The data sets of the program's input.
fn sets(name: &str) -> Sets {
    let (_, texts) = RUNS
        .iter()
        .find(|(run, _)| *run == name)
        .expect("it has one");
    Sets::new(&input(texts))
}

#[test]
fn programs_with_two_data_sets() {
    let boxes = [("a.com", Some([5, 5, 10, 10])); 2];
    assert_eq!(p1::program(&sets("p1")), boxes);
    let reward = |id: &str, count| {
        (
            id.to_owned(),
            100.0,
            format!("{count} purchases: a reward for {id}"),
        )
    };
    let rewards = [reward("c2", 5), reward("c1", 3), reward("c3", 3)];
    assert_eq!(p2::program(&sets("p2")), rewards);
    let sets3 = sets("p3");
    let flights = p3::program(&sets3);
    // One degree, with 0.1 instead of 1 under a root.
    assert!(
        matches!(flights[..], [("f1", miles)] if (miles - 218.58).abs() < 0.1),
        "{flights:?}"
    );
    assert_eq!(p4::program(&sets("p4")), [("r1", 2)]);
    assert_eq!(
        p5::program(&sets("p5")),
        [("car", 98), ("public", 20), ("onfoot", 5)]
    );
}

#[test]
fn programs_with_one_data_set() {
    assert_eq!(
        p5s::program(&sets("p5s")),
        [("car", 55.0), ("public", 16.0)]
    );
    assert_eq!(p6::program(&sets("p6")), [("a", 3), ("b", 2), ("", 1)]);
    assert_eq!(p7::program(&sets("p7")), ["v1,v2,v3"]);
    assert_eq!(p8::program(&sets("p8")), [("x", 11)]);
    assert_eq!(p9::program(&sets("p9")), 220);
    assert_eq!(p10::program(&sets("p10")), [("CS1 Pass".to_owned(), 6)]);
    assert_eq!(p11::program(&sets("p11")), [("m", 11)]);
    assert_eq!(p12::program(&sets("p12")), [(1, 1, 2)]);
    assert_eq!(p13::program(&sets("p13")), ["one", "two,three"]);
    assert_eq!(p14::program(&sets("p14")), [(16_777_216, 25)]);
    assert_eq!(
        p15::program(&sets("p15")),
        [("40-65", 7), ("0-19", 8), ("20-39", 1)]
    );
    assert_eq!(
        p16::program(&sets("p16")),
        [("40-65", (2, 15)), ("20-39", (1, 1))]
    );
    assert_eq!(p17::program(&sets("p17")), [(2250.0, "Ann")]);
}

#[test]
fn programs_with_harder_faults_make_the_same() {
    macro_rules! same {
        ($($name:literal $easy:ident $hard:ident)*) => {
            $({
                let sets = sets($name);
                assert_eq!($easy::program(&sets), $hard::program(&sets), $name);
            })*
        };
    }
    same! {
        "p1" p1 p1h
        "p2" p2 p2h
        "p4" p4 p4h
        "p5" p5 p5h
        "p6" p6 p6h
        "p7" p7 p7h
        "p9" p9 p9h
        "p10" p10 p10h
        "p11" p11 p11h
        "p12" p12 p12h
        "p13" p13 p13h
        "p14" p14 p14h
        "p16" p16 p16h
        "p17" p17 p17h
    }
    let sets3 = sets("p3");
    let flights = p3h::program(&sets3);
    // One degree, with nothing wrong under the root; f2 arrives at an airport that nobody knows.
    assert!(
        matches!(flights[..], [("f1", miles)] if (miles - 69.12).abs() < 0.01),
        "{flights:?}"
    );
}
