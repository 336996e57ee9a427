//! Data sets of as many rows as wanted, for row selection: by the formulas of the published generators (`seeds.rs`), with as
//! many different keys as rows ask for, and partners anywhere in the files.
//!
//! In: a program and a number of rows. Out: a file for each data set. The same everywhere.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use sandglass_engine::Rng;

use crate::Result;
use crate::seeds::{Draw, INT};

/// Of which program, and how many rows.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// p1, p2, p3 or p7
    program: String,
    /// Rows, of all data sets
    rows: u32,
    /// Where the files go, named by number
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// How many rows each data set has, and how one of them is drawn: data set, row, rows in all.
type Sets = (Vec<u32>, fn(&mut Draw, usize, u32, u32) -> String);

/// Those of a program.
fn sets(program: &str, all: u32) -> Result<Sets> {
    Ok(match program {
        "p1" => (vec![all / 2; 2], web_page),
        "p2" => (vec![all / 2; 2], customer),
        "p3" => (vec![all - all / 10, all / 10], flight),
        "p7" => (vec![all], delivery),
        other => return Err(format!("{other}: expected p1, p2, p3 or p7").into()),
    })
}

/// Gives each row of a program's data sets to `take`, with the number of its data set, in order.
pub(crate) fn draw(
    program: &str,
    all: u32,
    mut take: impl FnMut(usize, String) -> Result<()>,
) -> Result<()> {
    let (counts, row) = sets(program, all)?;
    let mut draw = Draw(Rng::new(1));
    for (set, count) in counts.into_iter().enumerate() {
        for nth in 0..count {
            take(set, row(&mut draw, set, nth, all))?;
        }
    }
    Ok(())
}

impl Args {
    /// Writes the files.
    pub(crate) fn write(&self) -> Result<()> {
        fs::create_dir_all(&self.out)?;
        // Also of a data set without rows.
        let (counts, _) = sets(&self.program, self.rows)?;
        let files = (0..counts.len()).map(|set| File::create(self.out.join(set.to_string())));
        let files = files.map(|file| file.map(BufWriter::new));
        let mut files = files.collect::<std::io::Result<Vec<_>>>()?;
        draw(&self.program, self.rows, |set, row| {
            Ok(writeln!(files[set], "{row}")?)
        })?;
        for mut file in files {
            file.flush()?;
        }
        Ok(())
    }
}

/// Eight boxes of a page, before and after, of which some have the same id and kind.
fn web_page(draw: &mut Draw, _: usize, _: u32, all: u32) -> String {
    const KINDS: [&str; 5] = ["advertisement", "header", "footer", "heading", "logo"];
    let url = draw.of(0, all / 16);
    let [x, y, height, width] = [1919, 1079, 1079, 1919].map(|most| draw.of(0, most));
    let (id, kind) = (draw.of(0, 9), draw.one(&KINDS));
    format!("www.{url}.com,{x},{y},{height},{width},{id},{kind}")
}

/// Customers, and orders of which about half have one.
fn customer(draw: &mut Draw, set: usize, nth: u32, all: u32) -> String {
    let id = draw.of(0, all);
    if set == 0 {
        return format!("{id},{},{}", draw.letters(10), draw.letters(10));
    }
    let (date, item) = (draw.of(0, INT), draw.of(0, INT));
    format!("order{nth},{id},{date},item{item}")
}

/// Flights between airports that are all there.
fn flight(draw: &mut Draw, set: usize, nth: u32, all: u32) -> String {
    const STATUS: [&str; 3] = ["Scheduled", "Arrived", "Cancelled"];
    if set == 1 {
        let [name, city, zone] = [(); 3].map(|()| draw.letters(10));
        let [long, lat] = [draw.degrees(180), draw.degrees(90)];
        return format!("A{nth},{name},{city},{long},{lat},{zone}");
    }
    let number = draw.of(1000, 9999);
    let [departs, arrives] = [draw.time(), draw.time()];
    let [from, to] = [(); 2].map(|()| draw.of(0, all / 10 - 1));
    let (status, aircraft) = (draw.one(&STATUS), draw.of(1, 10));
    format!("{nth},PG{number},{departs},{arrives},A{from},A{to},{status},CR{aircraft}")
}

/// Deliveries, four of each id on average, anywhere.
fn delivery(draw: &mut Draw, _: usize, _: u32, all: u32) -> String {
    let id = draw.of(0, all / 4);
    let [customer, vendor] = [draw.of(0, 99_998), draw.of(0, 99_998)];
    format!("dlvry{id},cust{customer},vend{vendor},{}", draw.of(1, 5))
}
