//! Records for `rust-magic`: numbers, texts, kinds, encoded values and lists, each by itself and always well-formed.

use sandglass_sdk::{span, structure, value};

use crate::lambda::{base64, text};

/// A record, a line for each of its values.
pub fn record() -> String {
    let mut lines: Vec<String> = vec![
        number(i64::from(i32::MIN), i64::from(i32::MAX)),
        number(i64::MIN, i64::MAX),
        number(0, 1_000_000),
        number(i64::from(i32::MIN), i64::from(i32::MAX)),
        number(0, 1_000_000),
    ];
    for _ in 0..6 {
        let _span = span!("Word");
        lines.push(text().replace('\n', " "));
    }
    lines.push(format!("kind-{}", value!().int(0..=499)));
    lines.push((0..4).map(|_| value!().char('0'..='9')).collect());
    lines.push(base64(&of_four()));
    lines.push(base64(&of_text()));
    lines.push(hex(&of_four()));
    lines.push(hex(&of_text()));
    lines.push(list());
    lines.push(format!(
        "{} {}",
        value!().int(0..=1_000_000),
        value!().int(0..=1_000_000)
    ));
    lines.join("\n")
}

fn number(lo: i64, hi: i64) -> String {
    let _span = span!("Number");
    value!().int(lo..=hi).to_string()
}

fn of_four() -> [u8; 4] {
    let _span = span!("Encoded");
    value!().int::<u32>(..).to_be_bytes()
}

fn of_text() -> Vec<u8> {
    let _span = span!("Encoded");
    text().into_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn list() -> String {
    let _span = span!("List");
    let numbers = structure!().vec(0..=40, |_| value!().int(0..=9_999).to_string());
    numbers.join(" ")
}
