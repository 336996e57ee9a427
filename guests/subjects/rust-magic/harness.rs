//! Twenty branches, each taken for one value of what a generator built: numbers, texts, lengths, kinds, encoded values, sums.
//! A branch is taken when its function is called: `solved_04` for the fifth.

use base64::prelude::{BASE64_STANDARD, Engine as _};

#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the entry point's name is given")]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    // SAFETY: the host passes a readable buffer of `size` bytes.
    let input = unsafe { std::slice::from_raw_parts(data, size) };
    match std::str::from_utf8(input).ok().and_then(Record::parse) {
        Some(record) => {
            check(&record);
            0
        }
        None => -1,
    }
}

struct Number(i64);
struct Word(String);
struct Encoded(Vec<u8>);
struct List(Vec<u64>);

/// A line each.
struct Record {
    numbers: Vec<Number>,
    words: Vec<Word>,
    kind: String,
    digits: String,
    based: Vec<Encoded>,
    hexed: Vec<Encoded>,
    list: List,
    addends: List,
}

impl Record {
    fn parse(text: &str) -> Option<Record> {
        let mut lines = text.split('\n');
        let numbers = lines.by_ref().take(5).map(|line| line.parse().ok().map(Number)).collect::<Option<_>>()?;
        let words = lines.by_ref().take(6).map(|line| Word(line.to_owned())).collect();
        let (kind, digits) = (lines.next()?.to_owned(), lines.next()?.to_owned());
        let based = lines.by_ref().take(2).map(based).collect::<Option<_>>()?;
        let hexed = lines.by_ref().take(2).map(hexed).collect::<Option<_>>()?;
        Some(Record { numbers, words, kind, digits, based, hexed, list: list(lines.next()?)?, addends: list(lines.next()?)? })
    }
}

fn based(line: &str) -> Option<Encoded> {
    BASE64_STANDARD.decode(line).ok().map(Encoded)
}

fn hexed(line: &str) -> Option<Encoded> {
    let digits = line.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    let bytes = digits.map(|pair| u8::from_str_radix(pair?, 16).ok());
    bytes.collect::<Option<_>>().map(Encoded)
}

fn list(line: &str) -> Option<List> {
    line.split_terminator(' ').map(|number| number.parse().ok()).collect::<Option<_>>().map(List)
}

macro_rules! solved {
    ($($name:ident)*) => {$(
        #[inline(never)]
        fn $name() {
            // Its number, so that no two of them are one function; not its name, which would be a string of the program.
            const DIGITS: [u8; 2] = *stringify!($name).as_bytes().last_chunk().expect("two digits");
            std::hint::black_box(u16::from_be_bytes(DIGITS));
        }
    )*};
}

solved!(solved_00 solved_01 solved_02 solved_03 solved_04 solved_05 solved_06 solved_07 solved_08 solved_09
        solved_10 solved_11 solved_12 solved_13 solved_14 solved_15 solved_16 solved_17 solved_18 solved_19);

fn check(record: &Record) {
    check_numbers(&record.numbers);
    check_words(&record.words);
    if record.kind == "kind-342" {
        solved_11();
    }
    if record.digits == "7391" {
        solved_12();
    }
    check_encoded(&record.based, &record.hexed);
    check_lists(&record.list, &record.addends);
}

fn check_numbers(numbers: &[Number]) {
    if numbers[0].0 == 0x5eed_1234 {
        solved_00();
    }
    if numbers[1].0 == 8_675_309_000_017 {
        solved_01();
    }
    if numbers[2].0 == 777_216 {
        solved_02();
    }
    if numbers[3].0 == -31_337_007 {
        solved_03();
    }
    if numbers[4].0 * 3 + 1 == 2_000_002 {
        solved_04();
    }
}

fn check_words(words: &[Word]) {
    if words[0].0 == "sesame-street" {
        solved_05();
    }
    if words[1].0.starts_with("magic:") {
        solved_06();
    }
    if words[2].0.to_uppercase() == "PLUGH" {
        solved_07();
    }
    if words[3].0.chars().rev().collect::<String>() == "drawkcab" {
        solved_08();
    }
    if words[4].0.len() == 40 {
        solved_09();
    }
    if words[5].0.split_once('/') == Some(("open", "close")) {
        solved_10();
    }
}

fn check_encoded(based: &[Encoded], hexed: &[Encoded]) {
    if based[0].0 == [0xde, 0xad, 0xbe, 0xef] {
        solved_13();
    }
    if based[1].0 == b"let me in" {
        solved_14();
    }
    if hexed[0].0 == 0xcafe_f00d_u32.to_be_bytes() {
        solved_15();
    }
    if hexed[1].0 == b"hexed" {
        solved_16();
    }
}

fn check_lists(list: &List, addends: &List) {
    if list.0.len() == 23 {
        solved_17();
    }
    if list.0.iter().sum::<u64>() == 100_000 {
        solved_18();
    }
    if let [one, other] = addends.0[..]
        && one + other == 1_234_567
    {
        solved_19();
    }
}
