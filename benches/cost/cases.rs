//! The cases: a subject, what a campaign starts from, the largest input that is allowed, and inputs that
//! are known to be costly at that size.

use sandglass_engine::Rng;
use sandglass_guests::{COSTLY, seeds, subject};

use crate::Result;

/// A case.
pub(crate) struct Case {
    /// Its name.
    pub(crate) name: &'static str,
    /// A subject of `guests/build-subjects.sh`, or a program of `guests/cost`.
    pub(crate) subject: &'static str,
    /// The longest input.
    pub(crate) bytes_max: u32,
    /// Where a campaign begins.
    pub(crate) seed: fn(subject: &str) -> Result<Vec<u8>>,
    /// What Perun is published to have found.
    pub(crate) published: Published,
    /// The costliest input of this size that anybody knows.
    pub(crate) best: fn() -> Vec<u8>,
}

/// What is published of an input that Perun found.
#[derive(Clone, Copy)]
pub(crate) enum Published {
    /// Nothing that we could compare with.
    Nothing,
    /// Its text, or enough to write the like.
    Input(fn() -> Vec<u8>),
    /// How much more it costs than the seed, in hundredths.
    Percent(u64),
}

/// Regular expressions and words at the sizes of Perun's tables, sorting at that of SlowFuzz's.
pub(crate) const CASES: &[Case] = &[
    Case {
        name: "trim",
        subject: "pcre2-trim",
        bytes_max: 5_000,
        seed: |_| shipped("pcre2-trim"),
        published: Published::Input(sixty_runs),
        best: || one_run(5_000),
    },
    Case {
        name: "trim, Oniguruma",
        subject: "onig-trim",
        bytes_max: 5_000,
        seed: |_| shipped("pcre2-trim"),
        published: Published::Input(sixty_runs),
        best: || one_run(5_000),
    },
    Case {
        name: "trim, 10 kB",
        subject: "pcre2-trim",
        bytes_max: 10_000,
        seed: |_| shipped("pcre2-trim"),
        published: Published::Input(many_runs),
        // A run that is longer by a hundred or so is past the largest limit of fuel.
        best: || [one_run(5_400), vec![b'a'; 4_600]].concat(),
    },
    Case {
        name: "e-mail",
        subject: "pcre2-email",
        bytes_max: 18,
        seed: shipped,
        published: Published::Input(|| b"spse1pogailcspse1p".to_vec()),
        best: || vec![b'a'; 18],
    },
    Case {
        name: "Java class",
        subject: "pcre2-java",
        bytes_max: 19,
        seed: shipped,
        published: Published::Input(|| b"mywesomelassamemywm".to_vec()),
        best: || vec![b'a'; 19],
    },
    Case {
        // The last of the published sizes that can be run: `cost predict` has the larger ones.
        name: "Java class, 36 B",
        subject: "pcre2-java",
        bytes_max: 36,
        seed: shipped,
        published: Published::Input(|| b"mywesomelassamemywesomelassam      \n".to_vec()),
        // A letter more in its first line, and it is past the largest limit of fuel.
        best: || format!("{}\n{}", "a".repeat(31), "a".repeat(4)).into_bytes(),
    },
    Case {
        name: "Java class, Oniguruma",
        subject: "onig-java",
        bytes_max: 19,
        seed: shipped,
        published: Published::Input(|| b"mywesomelassamemywm".to_vec()),
        best: || vec![b'a'; 19],
    },
    Case {
        name: "words, Java's hash",
        subject: "word-count-java",
        bytes_max: 210_000,
        seed: |_| Ok(random_words()),
        published: Published::Nothing,
        best: || colliding_words(WORDS),
    },
    Case {
        name: "words, larger",
        subject: "word-count-java",
        bytes_max: 458_000,
        seed: |_| Ok(random_words()),
        published: Published::Percent(348),
        // As many of this size would be past the largest limit of fuel.
        best: || colliding_words(WORDS),
    },
    Case {
        // The same words on one line: with a line for each, no six of Perun's mutations add 248 kB.
        name: "words, one line",
        subject: "word-count-java",
        bytes_max: 458_000,
        seed: |_| Ok(one_line(random_words())),
        published: Published::Input(published_rules),
        best: || colliding_words(WORDS),
    },
    Case {
        name: "words, one line, DJB's hash",
        subject: "word-count-djb",
        bytes_max: 458_000,
        seed: |_| Ok(one_line(random_words())),
        published: Published::Input(published_rules),
        best: equal_hashes,
    },
    Case {
        name: "words, DJB's hash",
        subject: "word-count-djb",
        bytes_max: 210_000,
        seed: |_| Ok(random_words()),
        published: Published::Nothing,
        best: equal_hashes,
    },
    Case {
        name: "insertion sort",
        subject: "insertion-sort",
        bytes_max: 64,
        seed: |_| Ok((0..64).collect()),
        published: Published::Nothing,
        best: || (0..64).rev().collect(),
    },
    Case {
        name: "quicksort",
        subject: "quicksort",
        bytes_max: 64,
        seed: |_| Ok((0..64u8).map(|i| i.wrapping_mul(37)).collect()),
        published: Published::Nothing,
        best: || vec![0; 64],
    },
    Case {
        name: "quicksort, Hoare",
        subject: "quicksort-hoare",
        bytes_max: 64,
        seed: |_| Ok((0..64u8).map(|i| i.wrapping_mul(37)).collect()),
        published: Published::Nothing,
        // Every partition swaps once, and leaves one byte on one side.
        best: || (1..64).chain([0]).collect(),
    },
    Case {
        name: "hash table",
        subject: "hash-table",
        bytes_max: 500,
        seed: |_| Ok(b"the quick brown fox jumps over the lazy dog".to_vec()),
        published: Published::Nothing,
        best: || vec![b'a'; 500],
    },
    // Real libraries in everyday use. Nobody knows their worst inputs: what stands for the best is a family that one would try.
    Case {
        name: "Expat",
        subject: "expat",
        bytes_max: 500,
        seed: shipped,
        published: Published::Nothing,
        best: || filled("<a>", "<b/>"),
    },
    Case {
        name: "cJSON",
        subject: "cjson",
        bytes_max: 500,
        seed: shipped,
        published: Published::Nothing,
        best: || filled("{", r#""k":1,"#),
    },
    Case {
        name: "serde_json",
        subject: "rust-json",
        bytes_max: 500,
        seed: shipped,
        published: Published::Nothing,
        best: || filled("{", r#""k":1,"#),
    },
    Case {
        name: "regex",
        subject: "rust-regex",
        bytes_max: 500,
        seed: shipped,
        published: Published::Nothing,
        best: || filled("(\\pL{9}){9}\n", "a"),
    },
    Case {
        name: "SQLite",
        subject: "sqlite",
        bytes_max: 500,
        seed: shipped,
        published: Published::Nothing,
        best: || filled("SELECT 1", ",1"),
    },
    Case {
        name: "zlib",
        subject: "zlib",
        bytes_max: 500,
        seed: shipped,
        published: Published::Nothing,
        best: || stored(500),
    },
    Case {
        name: "bzip2",
        subject: "bzip2",
        bytes_max: 500,
        seed: shipped,
        published: Published::Nothing,
        best: || shipped("bzip2").unwrap_or_default(),
    },
];

/// The module of a case's subject.
pub(crate) fn module(name: &str) -> Result<Vec<u8>> {
    match COSTLY.iter().find(|costly| costly.name == name) {
        Some(costly) => Ok(costly.wasm.to_vec()),
        None => Ok(subject(name)?),
    }
}

/// A beginning, and a part of it as often as 500 bytes have room for.
fn filled(begin: &str, part: &str) -> Vec<u8> {
    let times = (500 - begin.len()) / part.len();
    format!("{begin}{}", part.repeat(times)).into_bytes()
}

/// Blocks of five bytes in which nothing is stored, behind the two bytes of a zlib header.
fn stored(bytes: usize) -> Vec<u8> {
    let blocks = [0, 0, 0, 0xff, 0xff].repeat((bytes - 2) / 5);
    [&[0x78, 0x9c], &*blocks].concat()
}

/// The first of the seeds that come with a subject.
fn shipped(subject: &str) -> Result<Vec<u8>> {
    let seeds = seeds(subject).into_iter();
    Ok(seeds.min().ok_or("the subject has no seeds")?)
}

/// Five lines with 4,860 blanks in sixty runs, which cost 24 times what the seed costs, as Perun's worst
/// input of 5,000 bytes does. Of that, only size, lines, blanks and ratio are published.
fn sixty_runs() -> Vec<u8> {
    runs(5, 12, 81)
}

/// The same of its worst input of 10,000 bytes: 17 lines, 9,603 blanks, 41 times. The cost goes with the sum of the squares of the
/// runs, so here are 136 of 70.
fn many_runs() -> Vec<u8> {
    runs(17, 8, 70)
}

/// Lines of runs of blanks, with two letters before each.
fn runs(lines: usize, runs: usize, blanks: usize) -> Vec<u8> {
    let run = format!("ab{}", " ".repeat(blanks));
    format!("{}\n", run.repeat(runs)).repeat(lines).into_bytes()
}

/// One line with one run of blanks.
fn one_run(bytes: usize) -> Vec<u8> {
    format!("y{}x", " ".repeat(bytes - 2)).into_bytes()
}

/// Words on a line each, and letters of each: Perun's seed.
const WORDS: usize = 10_000;
const LETTERS: usize = 20;

/// Words with blanks between them.
fn one_line(mut words: Vec<u8>) -> Vec<u8> {
    let last = words.len() - 1;
    (words[..last].iter_mut()).for_each(|byte| *byte = if *byte == b'\n' { b' ' } else { *byte });
    words
}

fn random_words() -> Vec<u8> {
    words(WORDS, |_, letter| letter)
}

/// What the rules of Perun's mutant of 458 kB make of our words: the line once more (T.2), divided (T.3), a character less
/// twice (T.15), its first hundred blanks ten times as many, ten times over (T.11), and a character less. Its text is not published, nor
/// is how often each rule was repeated; ten times is the most. Of what it costs, the ratio of lines is: 3.48, and 2.19 by DJB's hash.
fn published_rules() -> Vec<u8> {
    let line = one_line(random_words());
    let (half, rest) = line.split_at(line.len() / 2);
    let blanks = rest.iter().position(|byte| *byte == b' ').unwrap_or(0);
    let (before, after) = rest.split_at(blanks);
    // A hundred blanks become a thousand, and then the first hundred of them do.
    let more = vec![b' '; 10 * 900];
    [&line, &half[1..], b"\n", before, &more, &after[2..]].concat()
}

/// Words of which every second letter is the same, the ones that Java's function looks at.
fn colliding_words(count: usize) -> Vec<u8> {
    words(count, |at, letter| if at % 2 == 0 { b'a' } else { letter })
}

/// Random words, of which `change` has the last word on every letter.
fn words(count: usize, change: fn(usize, u8) -> u8) -> Vec<u8> {
    let mut rng = Rng::new(20);
    let mut text = Vec::new();
    for _ in 0..count {
        text.extend((0..LETTERS).map(|at| change(at, b'a' + rng.below(26) as u8)));
        text.push(b'\n');
    }
    text
}

/// Words that are all the same to `hash * 33 + letter`: one more before is worth 33 more behind.
fn equal_hashes() -> Vec<u8> {
    const PAIRS: [&[u8; 2]; 3] = [b"ax", b"bW", b"c6"];
    let mut text = Vec::new();
    for word in 0..WORDS {
        let digit = |place: usize| word / 3usize.pow(place as u32) % 3;
        text.extend((0..LETTERS / 2).flat_map(|place| *PAIRS[digit(place)]));
        text.push(b'\n');
    }
    text
}
