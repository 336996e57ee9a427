//! Row selection by the program as users start it: of two files, a few rows that cover what all do, and from which a campaign
//! of `codep` starts.
//!
//! The program is P2 of `guests/dataflow`, which joins customers (`id,name,town`) with orders (`order,id,date,item`), and
//! rewards three customers if each has three recent orders or more. Of 20,000 customers every fifth has an order, an old one.
//! Only three have three recent ones, which lie far apart.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use sandglass_guests::dataflow;

const ROWS: usize = 20_000;
/// The three customers, and the orders of each.
const RICH: [usize; 3] = [15_001, 15_002, 15_003];
const ORDERS: [usize; 3] = [101, 9_001, 19_991];

/// Recent enough, and too old.
const DATES: [u32; 2] = [1_641_013_201, 1_000];

fn customer(nth: usize) -> String {
    format!("c{nth},Smith,Blacksburg")
}

fn order(nth: usize) -> String {
    let rich = ORDERS
        .iter()
        .find_map(|first| RICH.get(nth.wrapping_sub(*first)));
    let (customer, date) = match rich {
        Some(rich) => (format!("c{rich}"), DATES[0]),
        // The same customer, from the other end.
        None if nth.is_multiple_of(5) => (format!("c{}", ROWS - 5 - nth), DATES[1]),
        None => (format!("nobody{nth}"), DATES[0]),
    };
    format!("order{nth},{customer},{date},item")
}

fn sandglass(folder: &Path, arguments: &str, code: i32) -> String {
    let ended = Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
        .args(arguments.split(' '))
        .current_dir(folder)
        .env("SANDGLASS_CACHE", folder.join("cache"))
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(code), "{text}{complaint}");
    text
}

/// Edges covered by testcases, and by all partitions: `… cover 7 of the 8 edges that …`.
fn edges(text: &str) -> (u32, u32) {
    let last = text.lines().last().expect("a line");
    let (_, counts) = last.split_once(" cover ").expect("counts");
    let words: Vec<&str> = counts.split(' ').collect();
    let number = |word: &str| word.replace(',', "").parse().expect("a number");
    (number(words[0]), number(words[3]))
}

fn kept(folder: &Path) -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for file in fs::read_dir(folder).expect("read") {
        let text = fs::read_to_string(file.expect("read").path()).expect("text");
        let lines = text.split(['\n', '\x1c']).filter(|row| !row.is_empty());
        rows.extend(lines.map(str::to_owned));
    }
    rows
}

#[test]
fn rows_that_join_are_found_among_many_and_kept_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    fs::write(
        path.join("p2.wasm"),
        dataflow("p2").expect("it is one").wasm,
    )
    .expect("written");
    let all = |row: fn(usize) -> String| (0..ROWS).map(|nth| row(nth) + "\n").collect::<String>();
    fs::write(path.join("customers"), all(customer)).expect("written");
    fs::write(path.join("orders"), all(order)).expect("written");
    let text = sandglass(path, "rows p2.wasm customers orders", 0);
    assert!(text.contains("key: 0.0 = 1.1\n"), "{text}");
    let (covered, all) = edges(&text);
    assert_eq!(covered, all, "{text}");

    let rows = kept(&path.join("p2.rows"));
    assert!(rows.len() < 100, "{text}");
    for rich in RICH {
        assert!(rows.contains(&customer(rich)), "{rich}: {rows:?}");
    }
    for (first, nth) in ORDERS
        .iter()
        .flat_map(|first| (0..3).map(move |nth| (first, nth)))
    {
        assert!(
            rows.contains(&order(first + nth)),
            "{first} {nth}: {rows:?}"
        );
    }

    // The control: where no key is known, these rows do not meet, and what they cover is missing.
    let control = sandglass(
        path,
        "rows p2.wasm customers orders --delimiter ; --out control",
        0,
    );
    assert!(
        control.contains("warning: no keys were equal in a sample"),
        "{control}"
    );
    assert!(edges(&control).1 < all, "{control}{text}");

    // The same again, byte for byte; and a campaign begins there.
    let again = sandglass(path, "rows p2.wasm customers orders --out again", 0);
    assert_eq!(again.replace("again", "p2.rows"), text);
    assert_eq!(kept(&path.join("again")), rows);
    // It takes one row more to meet the fault that asks for four orders.
    let fuzz = "fuzz p2.wasm p2.rows --guidance codep --execs 3000 --out campaign";
    let text = sandglass(path, fuzz, 1);
    assert!(text.contains("fault 2.4"), "{text}");
}
