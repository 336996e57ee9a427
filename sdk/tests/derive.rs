//! `#[derive(Generate)]`: what it draws, in which role, and where recursion ends.

use sandglass_sdk::native::{Choice, Domain, Run, Source, run};
use sandglass_sdk::{Depth, Generate, Role, Site, site};

#[derive(Debug, PartialEq, Generate)]
enum Expression {
    #[generate(weight = 3)]
    Number(u8),
    Name {
        #[generate(with = short)]
        text: String,
    },
    Add(Box<Expression>, Box<Expression>),
    #[generate(weight = 0)]
    #[expect(dead_code, reason = "a variant of weight 0 is never made")]
    Never(std::marker::PhantomData<u8>),
}

// The field's type does not implement `Generate`; a variant that is left out must not need it to.
fn short(site: Site, _: Depth) -> String {
    site.with_role(Role::Value).string(1..=2, 'a'..='b')
}

#[derive(Debug, PartialEq, Generate)]
struct Pair<T> {
    left: T,
    right: Option<Box<Pair<T>>>,
}

#[derive(Debug, PartialEq, Generate)]
struct Unit;

fn drawn(choices: &[Choice]) -> Run<Expression> {
    run(Source::Recorded(choices.to_vec()), || site!().any())
}

#[test]
fn variants_are_chosen_by_weight() {
    let number = drawn(&[Choice::Int(2), Choice::Int(9)]);
    assert_eq!(number.drawn[0].domain, Domain::Int { lo: 0, hi: 4 });
    assert_eq!(number.drawn[0].role, Role::Structure);
    assert_eq!(number.drawn[1].role, Role::Value);
    assert_eq!(number.spans[0].label, "Expression");
    assert_eq!(number.done(), Expression::Number(9));
    let name = drawn(&[Choice::Int(3), Choice::Int(1), Choice::Int(1)]);
    assert_eq!(name.done(), Expression::Name { text: "b".into() });
}

#[test]
fn without_depth_only_leaves_are_drawn() {
    for seed in 0..200 {
        let run = run(Source::Seeded(seed), || {
            Expression::generate(site!(), Depth::of(0))
        });
        assert_eq!(run.spans.len(), 1, "seed {seed}");
        assert!(!matches!(run.done(), Expression::Add(..)), "seed {seed}");
    }
}

#[test]
fn recursion_nests_and_ends() {
    let mut deepest = 0;
    for seed in 0..300 {
        let run = run(Source::Seeded(seed), || site!().any::<Expression>());
        deepest = deepest.max(run.spans.iter().map(|span| span.level).max().unwrap_or(0));
        assert!(run.spans.iter().all(|span| span.closed));
    }
    assert!((2..=5).contains(&deepest), "{deepest}");
}

#[test]
fn the_same_field_is_the_same_site_at_every_depth() {
    let longest = (0..100).map(|seed| run(Source::Seeded(seed), || site!().any::<Pair<u8>>()));
    let longest = longest
        .max_by_key(|run| run.drawn.len())
        .expect("there are runs");
    let lefts: Vec<u32> = longest
        .drawn
        .iter()
        .filter(|d| d.role == Role::Value)
        .map(|d| d.site)
        .collect();
    assert!(lefts.len() > 2, "{lefts:?}");
    assert!(lefts.iter().all(|site| *site == lefts[0]), "{lefts:?}");
}

/// Another type leads back to the enum: only `Literal` is sure to end.
#[derive(Debug, Generate)]
enum Statement {
    Literal(#[expect(dead_code, reason = "drawn and not looked at")] u16),
    Block(Body),
}

#[derive(Debug, Generate)]
struct Body {
    first: std::rc::Rc<Statement>,
    second: std::sync::Arc<Statement>,
}

impl Statement {
    fn levels(&self) -> u32 {
        match self {
            Statement::Literal(..) => 0,
            Statement::Block(body) => 1 + body.first.levels().max(body.second.levels()),
        }
    }
}

#[test]
fn recursion_through_another_type_ends() {
    let mut deepest = 0;
    for seed in 0..300 {
        let run = run(Source::Seeded(seed), || {
            Statement::generate(site!(), Depth::of(3))
        });
        deepest = deepest.max(run.done().levels());
    }
    assert_eq!(deepest, 3);
}

#[test]
fn texts_are_ascii_for_the_most_part() {
    let run = run(Source::Seeded(2), || {
        (0..1_000)
            .map(|_| site!().any::<char>())
            .collect::<Vec<_>>()
    });
    let ascii = run.done().iter().filter(|c| c.is_ascii()).count();
    assert!((700..800).contains(&ascii), "{ascii}");
}

#[test]
fn a_unit_struct_draws_nothing() {
    let run = run(Source::Recorded(vec![]), || site!().any::<Unit>());
    assert_eq!(run.done(), Unit);
}
