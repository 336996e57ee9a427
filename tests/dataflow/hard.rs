//! The harder faults: for each an input that triggers it, so it is feasible, and inputs near that one that trigger nothing.
//!
//! Each condition of a trigger has an input that fails only that one, so that none of them can be lost unnoticed.

use std::fmt::Display;

use sandglass_engine::Exit;
use sandglass_guests::HARD;
use sandglass_instrument::symbols::Symbols;
use sandglass_sandbox::on_guest_thread;

use super::inputs::input;
use super::{assert_is_at_its_line, message, sandbox};

/// What makes one input of another: all of each first text become the second.
type Edits = &'static [(&'static str, &'static str)];

/// An input that triggers a fault.
struct Witness {
    id: &'static str,
    /// The texts of its data sets.
    texts: Vec<String>,
    /// What makes inputs of it that trigger nothing.
    near: &'static [Edits],
}

fn witness(id: &'static str, texts: &[&str], near: &'static [Edits]) -> Witness {
    Witness {
        id,
        texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        near,
    }
}

/// A row for each number.
fn rows<T: Display>(numbers: impl Iterator<Item = u32>, row: impl Fn(u32) -> T) -> String {
    let rows = numbers.map(|number| row(number).to_string());
    rows.collect::<Vec<_>>().join("\n")
}

fn witnesses() -> Vec<Witness> {
    let several = [two_sets(), one_set()];
    several.into_iter().flatten().collect()
}

fn two_sets() -> Vec<Witness> {
    let boxes = rows(1..=7, |n| format!("a.com,0,0,200,10,{n},logo"));
    let orders = rows(1..=37, |n| format!("o,c1,17000000{n:02},i"));
    // Seven, four and three orders.
    let three_best = rows(1..=14, |n| {
        let customer = match n {
            1..=7 => "c1",
            8..=11 => "c2",
            _ => "c3",
        };
        format!("o{n:02},{customer},1700000000,i")
    });
    // Twelve, five and four trips.
    let trips = rows(1..=21, |n| {
        let route = match n {
            1..=12 => "r1",
            13..=17 => "r2",
            _ => "r3",
        };
        format!("t{n:02},0,0,{route}")
    });
    let arrivals = rows(1..=21, |n| format!("t{n:02},7200,0,x"));
    const PLACE: &str = "90024,34,-118,Los Angeles,CA,California,TRUE,,17113,1234";
    vec![
        witness(
            "h1.1",
            &["a.com,1001,0,10,20,1,logo", "a.com,3010,0,20,10,1,logo"],
            &[
                &[("3010", "3011")],
                &[("0,20,10", "0,21,10")],
                &[("1001", "1000"), ("3010", "3007")],
            ],
        ),
        witness(
            "h1.2",
            &["a.com,5,5,10,1400,1,logo", &boxes],
            &[
                &[("200,10,7", "201,10,7")],
                &[("1400", "1399")],
                &[("\na.com,0,0,200,10,7,logo", ""), ("200,10,6", "400,10,6")],
                &[("1400", "700"), ("200", "100")],
            ],
        ),
        witness(
            "h1.3",
            &[
                "a.com,0,0,1,1,1,navigation",
                "a.com,5000,0,15000,20000,1,navigation\na.com,0,0,20000,20000,2,logo",
            ],
            &[
                &[("navigation", "navigations")],
                &[("15000", "15001")],
                &[("20000,20000", "20000,15000"), ("0,15000,2", "0,10000,2")],
            ],
        ),
        witness(
            "h2.1",
            &["c1,Ann,X", "o1,c1,1672531200,giftcardc1"],
            &[
                &[("giftcardc1", "giftcardc2")],
                &[("giftcard", "giftcart")],
                &[("1672531200", "1672531201")],
            ],
        ),
        witness(
            "h2.2",
            &["c1,Ann,X", &orders],
            &[
                &[("\no,c1,1700000037,i", "")],
                &[("1700000037,i", "1700000037,i\no,c1,1700000038,i")],
                &[("1700000037", "1700000036")],
            ],
        ),
        witness(
            "h2.3",
            &["c1,Ann,X\nc2,Bob,X\nc3,Cid,X", &three_best],
            &[
                &[("o07,c1,1700000000,i\n", "")],
                &[("o01", "o00,c1,1700000000,i\no01")],
                &[("Ann,X", "Ann,Y")],
                &[("Cid,X", "Cid,Y")],
                // Eight, four and four.
                &[("o01", "o00,c1,1700000000,i\no00,c3,1700000000,i\no01")],
            ],
        ),
        witness(
            "h3.1",
            &[
                "f1,PG1,t,t,AAA,BBB,late,CR1",
                "AAA,n,City,10,5,tz\nBBB,n,City,20,-5,tz",
            ],
            &[
                &[("BBB,n,City", "BBB,n,Town")],
                &[("-5", "-4")],
                &[("-5", "0"), ("10,5", "10,0")],
                &[("BBB", "AAA")],
            ],
        ),
        witness(
            "h3.2",
            &[
                "f1,PG1,2017-07-12 10:35:00+03,2018-08-16 10:35:00+03,AAA,BBB,late,CR1",
                "AAA,n,n,10,5,tz\nBBB,n,n,20,5,tz",
            ],
            &[
                &[("08-16", "08-17")],
                &[("08-16 10:35", "08-16 10:36")],
                // 2020 has a day more.
                &[("2018", "2020"), ("2017", "2019")],
                &[("\nBBB", "\nCCC")],
            ],
        ),
        witness(
            "h3.3",
            &["f1,PG1,t,t,ABC,CBA,Diverted,CR1", "ABC,n,n,10,5,tz"],
            &[
                &[("Diverted", "Arrived")],
                &[("CBA", "CAB")],
                &[("tz", "tz\nCBA,n,n,10,5,tz")],
                &[("ABC,n", "ABD,n")],
            ],
        ),
        witness(
            "h4.1",
            &["t1,0,0,r1", "t1,7200,3600,r2"],
            &[
                &[("7200", "7201")],
                &[("7200", "7198"), ("3600", "3599")],
                &[("r2", "r1")],
            ],
        ),
        witness(
            "h4.2",
            &[
                "t1,0,0,r1\nt2,0,0,r2\nt3,0,0,r3",
                "t1,66600,0,x\nt2,66600,0,x\nt3,68399,0,x",
            ],
            &[
                &[("68399", "68400")],
                &[("66600", "64800"), ("68399", "64800")],
                &[("r3", "r1")],
                &[("r3", "r2")],
                &[("r2", "r1")],
                &[("t3,0,0,r3", "t3,0,0,r3\nt3,0,0,r4")],
            ],
        ),
        witness(
            "h4.3",
            &[&trips, &arrivals],
            &[
                &[("t12,0,0,r1\n", "")],
                // Two routes; and nine, five and three.
                &[("0,r2", "9999,r2"), ("0,9999", "99999,0")],
                &[
                    ("t12,0,0,r1\nt13", "t13"),
                    ("t11,0,0,r1\n", ""),
                    ("t10,0,0,r1\n", ""),
                    ("\nt21,0,0,r3", ""),
                ],
            ],
        ),
        witness(
            "h5.1",
            &["sr,90024,90001,1234,1", PLACE],
            &[
                &[("17113,1234", "17113,1235")],
                &[("1234", "1000")],
                &[("Angeles", "Angels")],
            ],
        ),
        witness(
            "h5.2",
            &[
                "sr,90024,90001,200000,1\nsr,90024,90001,200000,1\nsr,90024,90001,200000,1\n\
                 sr,90024,90001,200000,1\nsr,90024,90001,200003,1",
                PLACE,
            ],
            &[
                &[("200003", "200004")],
                &[("200003,1", "100003,1\nsr,90024,90001,100000,1")],
            ],
        ),
        witness(
            "h5.3",
            &[
                "sr,90024,90001,160,1\nsr,90024,90001,16,1\nsr,90024,90001,15,1\n\
                 sr,90024,90001,15,1\nsr,90024,90001,7,1",
                PLACE,
            ],
            &[
                &[(",160,", ",161,")],
                &[(",16,", ",17,")],
                &[(",7,", ",8,")],
            ],
        ),
    ]
}

fn one_set() -> Vec<Witness> {
    let salaries = rows(1..=15, |n| if n == 15 { 56 } else { 299 });
    let failed = rows(1..=37, |n| format!("CS499,{n}"));
    // Six failed, twelve passed.
    let scores = rows((35..=40).chain(41..=52), |n| format!("C,{n}"));
    let ratings = rows(1..=8, |n| format!("d,c{n},v,1.5"));
    vec![
        witness(
            "h6.1",
            &["a 4711000000000002"],
            &[
                &[("4711000000000002", "4711000000000003")],
                &[("4711000000000002", "0000000000000000")],
                // A right check digit, but of 14.
                &[("4711000000000002", "47110000000002")],
                &[("4711000000000002", "471100000000000é")],
            ],
        ),
        witness(
            "h6.2",
            &["tumbling tumbling\ntumbling\ngnilbmut gnilbmut\ngnilbmut gnilbmut gnilbmut"],
            &[
                &[("\ntumbling\n", "\n")],
                &[("\ntumbling\n", "\ntumbling tumbling\n")],
                &[("\ngnilbmut gnilbmut\n", "\ngnilbmut\n")],
                &[("gnilbmut", "gnilbmus")],
                &[("tumbling", "umbling"), ("gnilbmut", "gnilbmu")],
            ],
        ),
        witness(
            "h7.1",
            &["dlvry104,c,v,26\ndlvry104,c,v,26\ndlvry104,c,v,25\ndlvry104,c,v,27"],
            &[
                &[("dlvry104", "dlvry105")],
                &[("dlvry104", "dlvr104")],
                &[("dlvry104", "dlvry100"), ("27", "23")],
                &[("\ndlvry104,c,v,27", ""), ("25", "52")],
            ],
        ),
        witness(
            "h7.2",
            &[&ratings],
            &[
                &[("c8,v,1.5", "c8,v,1.75")],
                &[("c8", "c7")],
                &[("\nd,c8,v,1.5", ""), ("c7,v,1.5", "c7,v,3")],
            ],
        ),
        witness(
            "h7.3",
            &["d,x,y,1\nd,c,v,1\nd,y,x,1"],
            &[
                &[("d,y,x", "d,y,z")],
                &[("d,y,x", "d,z,x")],
                &[("x", "y")],
                &[(",1", ",2")],
                &[("d,c,v,1\n", "")],
            ],
        ),
        witness(
            "h9.1",
            &[&salaries],
            &[&[("56", "57")], &[("299\n56", "355")]],
        ),
        witness(
            "h9.2",
            &["100\n101\n102\n103\n406"],
            &[
                &[("406", "407")],
                &[("406", "406\n500")],
                &[("103", "102"), ("406", "405")],
                // Low ones only.
                &[("100\n101\n102\n103\n406", "1\n2\n-3\n4\n0")],
            ],
        ),
        witness(
            "h10.1",
            &[&failed],
            &[
                &[("\nCS499,37", "")],
                &[("\nCS499,37", "\nCS499,37\nCS499,38")],
                &[("CS499", "CS498")],
                &[("CS499,37", "CS499,41")],
            ],
        ),
        witness(
            "h10.2",
            &[&scores],
            &[
                &[("\nC,52", "")],
                &[("C,52", "D,52")],
                // Five and ten.
                &[("\nC,40", ""), ("\nC,52", ""), ("\nC,51", "")],
            ],
        ),
        witness(
            "h11.1",
            &["m,34\nm,34\nm,34\nn,20\nn,20\nn,20\nn,20\nn,22"],
            &[
                &[("22", "23")],
                &[("m,34\nm,34\nm,34", "m,51\nm,51")],
                &[("n,22", "n,11\nn,11")],
                &[("34", "33"), ("22", "19")],
            ],
        ),
        witness(
            "h12.1",
            &["119,120,169"],
            &[
                &[("169", "170")],
                &[("119,120", "120,119")],
                &[("119,120,169", "3,4,5")],
                &[("169", "-169")],
                // 2^16, whose square is 2^32.
                &[("119,120,169", "65536,131072,65536")],
            ],
        ),
        witness(
            "h13.1",
            &["invoice 2024-02-29 1"],
            &[
                &[("29 1", "29 2")],
                &[("invoice", "Invoice")],
                &[("02-29 1", "02-28 0")],
                // Right check digits, but no leap years, or no year.
                &[("2024-02-29 1", "2023-02-29 0")],
                &[("2024-02-29 1", "1900-02-29 3")],
                &[("2024-02-29 1", "024-02-29 9")],
            ],
        ),
        witness(
            "h14.1",
            &["148,49"],
            &[
                &[("148", "149")],
                // One number more, with the same largest; and a largest that is the first.
                &[("49", "98")],
                &[("148,49", "16777216,16777216")],
            ],
        ),
        witness(
            "h16.1",
            &[
                "90024,45,142857\n90024,45,142857\n90024,45,142857\n90024,45,142857\n\
                 90024,45,142857\n90024,45,142857\n90024,45,142858",
            ],
            &[
                &[("142858", "142859")],
                &[("142858", "142857\n90024,45,1")],
                &[("90024", "90025")],
                &[("45,142858", "39,142858")],
            ],
        ),
        witness(
            "h16.2",
            &[
                "90024,10,299\n90024,10,300\n90024,10,301\n90024,30,199\n90024,30,200\n\
                 90024,30,201\n90024,50,99\n90024,50,100\n90024,50,101",
            ],
            &[
                &[("301", "304")],
                &[("101", "104")],
                &[("\n90024,10,301", ""), ("299", "300")],
                &[("\n90024,30,201", ""), ("199", "200")],
                &[("\n90024,50,101", ""), (",99", ",100")],
            ],
        ),
        witness(
            "h17.1",
            &["376889.48,20,0.05,Ann"],
            &[
                &[("376889.48", "376890.48")],
                &[("376889.48", "376888.48")],
                &[("376889.48,20", "644608.92,9")],
                &[("376889.48,20,0.05", "1000000,20,0")],
            ],
        ),
    ]
}

#[test]
fn every_harder_fault_has_an_input_that_triggers_it_and_near_ones_that_do_not() {
    let witnesses = witnesses();
    let listed = witnesses.iter().map(|witness| witness.id);
    let faults = HARD.iter().flat_map(|program| program.faults);
    assert!(listed.eq(faults.map(|(id, _)| *id)));
    let mut witnesses = witnesses.iter();
    on_guest_thread(|| {
        for program in &HARD {
            let mut sandbox = sandbox(program);
            let symbols = Symbols::new(program.wasm);
            for witness in witnesses.by_ref().take(program.faults.len()) {
                let id = witness.id;
                assert_eq!(witness.texts.len(), program.sets, "{id}");
                let texts: Vec<&str> = witness.texts.iter().map(String::as_str).collect();
                let replay = sandbox.replay(&input(&texts));
                assert_eq!(message(&replay), Some(format!("fault {id}")));
                assert_is_at_its_line(program, &symbols, &replay, id);
                for edits in witness.near {
                    let text = edits.iter().fold(texts.join("\u{1c}"), |text, (from, to)| {
                        assert!(text.contains(from), "{id}: no {from}");
                        text.replace(from, to)
                    });
                    let replay = sandbox.replay(text.as_bytes());
                    let said = message(&replay);
                    assert_eq!(replay.outcome.exit, Exit::Valid, "{id} {edits:?}: {said:?}");
                }
            }
        }
    });
}

/// The book has a row for each fault, with its depth.
#[test]
fn the_book_says_what_triggers_each_harder_fault() {
    let book = include_str!("../../runtime/book/src/dataflow.md");
    let rows = book.lines().filter(|line| line.starts_with("| h"));
    let in_book: Vec<[&str; 2]> = rows
        .filter_map(|row| {
            let mut cells = row.split('|').map(str::trim).skip(1);
            Some([cells.next()?, cells.next()?])
        })
        .collect();
    let faults = HARD.iter().flat_map(|program| program.faults);
    let listed: Vec<_> = faults
        .map(|(id, depth)| [(*id).to_owned(), depth.to_string()])
        .collect();
    assert_eq!(in_book, listed);
}
