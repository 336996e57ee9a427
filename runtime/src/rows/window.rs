//! A window of rows, and their partners: the first rows of each data set that have the same key.
//!
//! In: rows of one data set, links, and the files. Out: for each row its partners. The other files are read once for a
//! window, not once for a row. Partners of partners are looked up in data sets that had none so far, so that a chain
//! of joins is followed to its end.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;

use super::Config;
use super::file::{Row, Rows};
use super::links::{Link, key};

/// Bytes of rows at a time. Twice as many halve how often the other files are read.
pub const WINDOW_BYTES: usize = 4 << 20;
/// Bytes of partners of a window.
const PARTNER_BYTES: usize = 16 << 20;
/// Partners by one key: a group then has four rows, more than the three that tell a first, a middle and a last one apart.
const PARTNERS: usize = 3;

/// Partners of a window's rows.
#[derive(Default)]
pub struct Partners {
    /// By link and key; only asked, never listed.
    by_key: HashMap<(usize, u64), Vec<u32>>,
    rows: Vec<Row>,
    /// Which of `rows` a row is.
    places: BTreeMap<(usize, u64), u32>,
    bytes: usize,
    links: Vec<Link>,
    /// Those that there was no room for.
    pub left_out: u64,
}

impl Partners {
    /// Looks up the partners of a window.
    pub fn of(window: &[Row], config: &Config, links: &[Link]) -> Result<Partners> {
        let mut partners = Partners {
            links: links.to_vec(),
            ..Partners::default()
        };
        let Some(first) = window.first() else {
            return Ok(partners);
        };
        let from = |link: &usize, set: usize| links[*link].here.0 == set;
        let mut follow: Vec<usize> = (0..links.len()).filter(|l| from(l, first.set)).collect();
        let mut known = BTreeSet::from([first.set]);
        for link in &follow {
            partners.expect(*link, window, config.delimiter);
        }
        while !follow.is_empty() {
            let before = partners.rows.len();
            let sets: BTreeSet<usize> = follow.iter().map(|link| links[*link].there.0).collect();
            for set in &sets {
                partners.look_up(*set, &follow, config)?;
            }
            known.extend(&sets);
            let found = partners.rows[before..].to_vec();
            let is_next = |link: &usize| {
                sets.contains(&links[*link].here.0) && !known.contains(&links[*link].there.0)
            };
            follow = (0..links.len()).filter(is_next).collect();
            for link in &follow {
                partners.expect(*link, &found, config.delimiter);
            }
        }
        Ok(partners)
    }

    /// Partners of these rows are looked for.
    fn expect(&mut self, link: usize, rows: &[Row], delimiter: u8) {
        let (set, columns) = &self.links[link].here;
        for row in rows.iter().filter(|row| row.set == *set) {
            if let Some(key) = key(&row.bytes, columns, delimiter) {
                self.by_key.entry((link, key)).or_default();
            }
        }
    }

    /// Reads a data set for what these links look for in it.
    fn look_up(&mut self, set: usize, follow: &[usize], config: &Config) -> Result<()> {
        let mut file = Rows::open(config, set)?;
        while let Some((number, bytes)) = file.read()? {
            for link in follow {
                let (there, columns) = &self.links[*link].there;
                if *there != set {
                    continue;
                }
                let key = key(bytes, columns, config.delimiter);
                let wanted = key.and_then(|key| self.by_key.get_mut(&(*link, key)));
                let Some(wanted) = wanted.filter(|wanted| wanted.len() < PARTNERS) else {
                    continue;
                };
                if self.bytes + bytes.len() > PARTNER_BYTES {
                    self.left_out += 1;
                    continue;
                }
                let place = *self.places.entry((set, number)).or_insert_with(|| {
                    self.bytes += bytes.len();
                    let bytes = bytes.to_vec();
                    self.rows.push(Row { set, number, bytes });
                    self.rows.len() as u32 - 1
                });
                wanted.push(place);
            }
        }
        Ok(())
    }

    /// A row, with its partners and theirs, as many as fit in so many bytes.
    pub fn with<'a>(&'a self, row: &'a Row, delimiter: &u8, bytes_max: usize) -> Vec<&'a Row> {
        let mut group = vec![row];
        let mut bytes = row.bytes.len() + 1;
        let mut at = 0;
        while at < group.len() {
            let row = group[at];
            at += 1;
            for (number, link) in self.links.iter().enumerate() {
                if link.here.0 != row.set {
                    continue;
                }
                let key = key(&row.bytes, &link.here.1, *delimiter);
                let places = key.and_then(|key| self.by_key.get(&(number, key)));
                for place in places.into_iter().flatten() {
                    let partner = &self.rows[*place as usize];
                    let is_there = group.contains(&partner);
                    if !is_there && bytes + partner.bytes.len() < bytes_max {
                        bytes += partner.bytes.len() + 1;
                        group.push(partner);
                    }
                }
            }
        }
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(here: usize, column: usize, there: usize, other: usize) -> Link {
        Link {
            here: (here, vec![column]),
            there: (there, vec![other]),
        }
    }

    /// Partners of each row of the first data set, as texts.
    fn partners(texts: &[&str], links: &[Link], bytes_max: usize) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = |set: usize| folder.path().join(set.to_string());
        for (set, text) in texts.iter().enumerate() {
            std::fs::write(path(set), text).unwrap();
        }
        let config = Config {
            files: (0..texts.len()).map(path).collect(),
            delimiter: b',',
            bytes_max: 1000,
        };
        let window = Rows::open(&config, 0).unwrap().window(1000).unwrap();
        let partners = Partners::of(&window, &config, links).unwrap();
        let text = |row| {
            let group = partners.with(row, &b',', bytes_max);
            let rows = group[1..]
                .iter()
                .map(|row| String::from_utf8_lossy(&row.bytes));
            rows.collect::<Vec<_>>().join(" ")
        };
        window.iter().map(text).collect()
    }

    #[test]
    fn chains_of_joins_are_followed_and_not_back() {
        let texts = ["a\nb\n", "a,7\nc,7\n", "7,x\n8,y\n"];
        let both = [
            link(0, 0, 1, 0),
            link(1, 0, 0, 0),
            link(1, 1, 2, 0),
            link(2, 0, 1, 1),
        ];
        assert_eq!(partners(&texts, &both, 1000), ["a,7 7,x", ""]);
    }

    #[test]
    fn of_many_partners_the_first_are_taken_as_far_as_they_fit() {
        let texts = ["k\n", "k1\nk,1\nk,2\nk,3\nk,4\n"];
        let links = [link(0, 0, 1, 0)];
        assert_eq!(partners(&texts, &links, 1000), ["k,1 k,2 k,3"]);
        assert_eq!(partners(&texts, &links, 9), ["k,1"]);
    }

    #[test]
    fn rows_of_a_group_are_partners() {
        assert_eq!(
            partners(&["k,1\nz,1\nk,2\n"], &[link(0, 0, 0, 0)], 1000),
            ["k,2", "", "k,1"]
        );
    }
}
