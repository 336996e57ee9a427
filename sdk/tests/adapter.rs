//! Types of the crate `arbitrary` as generators.

use arbitrary::Arbitrary;
use sandglass_sdk::native::{Choice, Outcome, Source, run};
use sandglass_sdk::value;

#[derive(Debug, PartialEq, Arbitrary)]
struct Packet {
    kind: u16,
    body: Vec<u8>,
}

#[derive(Debug)]
struct Never;

impl Arbitrary<'_> for Never {
    fn arbitrary(_: &mut arbitrary::Unstructured<'_>) -> arbitrary::Result<Never> {
        Err(arbitrary::Error::IncorrectFormat)
    }
}

#[test]
fn bytes_become_the_value_that_arbitrary_makes_of_them() {
    let bytes = vec![1, 2, 3, 4, 5];
    let run = run(Source::Recorded(vec![Choice::Bytes(bytes.clone())]), || {
        value!().arbitrary::<Packet>(16)
    });
    let expected = Packet::arbitrary_take_rest(arbitrary::Unstructured::new(&bytes));
    assert_eq!(run.done(), expected.expect("five bytes are enough"));
}

#[test]
fn a_refusal_rejects_the_trial() {
    let run = run(Source::Seeded(1), || value!().arbitrary::<Never>(16));
    assert!(matches!(run.outcome, Outcome::Rejected));
}
