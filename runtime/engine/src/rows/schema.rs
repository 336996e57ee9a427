//! Which columns are numbers: as the user says, or as the cells look.
//!
//! In: text such as `onn;no`, a word for each data set with a letter for each column, and data sets. Out:
//! the kind of each column. Columns that the text does not name are numbers if more than half of their
//! cells that are not empty read as a float, so that a heading does not matter.

use super::{DataSets, jvm};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers.
    Number,
    /// Anything else.
    Other,
}

/// The kinds of all columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// By data set and column.
    kinds: Vec<Vec<Kind>>,
}

/// What is wrong with the text of a schema, if anything is.
pub fn check(text: &str) -> Result<(), String> {
    words(text).map(|_| ())
}

fn words(text: &str) -> Result<Vec<Vec<Kind>>, String> {
    let kind = |letter| match letter {
        'n' => Ok(Kind::Number),
        'o' => Ok(Kind::Other),
        _ => Err(format!(
            "`{letter}` in `{text}`, expected `n` for a column of numbers, `o` for another, and `;` between data sets"
        )),
    };
    let word = |word: &str| word.trim().chars().map(kind).collect();
    text.split(';').map(word).collect()
}

impl Schema {
    /// The kinds of the columns of data sets.
    ///
    /// # Panics
    /// If [`check`] has not passed the text.
    pub fn new(text: &str, sets: &DataSets) -> Schema {
        let mut kinds = words(text).expect("checked with the settings");
        kinds.resize(kinds.len().max(sets.sets()), Vec::new());
        for (set, kinds) in kinds.iter_mut().enumerate() {
            let inferred = infer(sets, set);
            kinds.extend(inferred.into_iter().skip(kinds.len()));
        }
        Schema { kinds }
    }

    /// Of one column; one that nobody has seen is no number.
    pub fn kind(&self, set: usize, column: usize) -> Kind {
        let columns = self.kinds.get(set);
        let kind = columns.and_then(|columns| columns.get(column));
        kind.copied().unwrap_or(Kind::Other)
    }
}

/// As the cells of one data set look.
fn infer(sets: &DataSets, set: usize) -> Vec<Kind> {
    // By column: cells that are not empty, and those that are numbers.
    let mut counts: Vec<[u32; 2]> = Vec::new();
    for row in 0..sets.rows(set) {
        let columns = sets.columns(set, row);
        if columns > counts.len() {
            counts.resize(columns, [0; 2]);
        }
        for (column, [all, numbers]) in counts[..columns].iter_mut().enumerate() {
            let cell = sets.cell(set, row, column);
            *all += u32::from(!cell.is_empty());
            *numbers += u32::from(jvm::float(cell).is_some());
        }
    }
    let kind = |[all, numbers]: [u32; 2]| match numbers > all - numbers {
        true => Kind::Number,
        false => Kind::Other,
    };
    counts.into_iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Kind::{Number, Other};

    #[test]
    fn as_cells_look() {
        let sets = DataSets::parse(b"name,age\nAda,36,\nBob,\nCy,1e2,x\n\x1c5,\n", b',');
        let schema = Schema::new("", &sets);
        let kinds = |set| [0, 1, 2, 3].map(|column| schema.kind(set, column));
        assert_eq!(kinds(0), [Other, Number, Other, Other]);
        assert_eq!(kinds(1), [Number, Other, Other, Other]);
        assert_eq!(kinds(2), [Other; 4]);
    }

    #[test]
    fn as_the_user_says_and_beyond() {
        let sets = DataSets::parse(b"1,2,3\n\x1c4,5\n", b',');
        let schema = Schema::new("on; o", &sets);
        let kinds = |set| [0, 1, 2].map(|column| schema.kind(set, column));
        assert_eq!(kinds(0), [Other, Number, Number]);
        assert_eq!(kinds(1), [Other, Number, Other]);
        assert!(check("no;;n").is_ok() && check("").is_ok());
        assert!(check("nx").is_err_and(|error| error.starts_with("`x` in `nx`")));
    }
}
