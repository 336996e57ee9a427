//! Statements: how many of a dataflow program's there are, as scoverage counts, and how many of them ran.
//!
//! In: a source in Rust, which of its lines have code, and which of those did not run. Out: how many statements ran. The
//! archive that the gate compares with is of statements of programs in Scala; lines are another unit, in which a fault has one
//! of ten, say, where it has two of forty there. This is by the rules of scoverage's plugin (`process` in
//! `ScoveragePlugin.scala`, 2.0, Scala 2.12), written down before anything was counted with them:
//!
//! | in Scala | statements | here |
//! | --- | --- | --- |
//! | application whose arguments are all names or literals, or none (`allConstArgs`) | 1 in all, whatever it is applied to | calls, methods, binary operators, indices, ranges, tuples, arrays, `format!` |
//! | other applications | 1, and those of its arguments; what it is applied to does not count, but its arguments do (`traverseApplication`) | the same |
//! | selection, `a.b`, `!a`, `a.toFloat` | 1, and the same | fields, `-a`, `!a`, `as` |
//! | literal | 1 | the same |
//! | `if` | those of the condition; 1 for each branch and its own; without `else`, the literal `()` and its branch | the same |
//! | `match` | those of the selector, guards and bodies; the cases have none | no program has one |
//! | `throw` | 1, with all that is within | `fault` |
//! | `while` | those of an `if` whose branch ends in a jump, which is an application | the same |
//! | `for` | an application of `foreach`, with a function for argument | the same |
//! | assignment, `val`, `return`, block, function | those of what is within | the same, `let`, closure; `a += b` is `a = a + b` |
//! | string with values within | an application of `s` to the values, and of `StringContext` to the texts between | `format!` |
//! | name | 0 | paths |
//!
//! Departures:
//!
//! - Names that Scala imports, and those of members, are selections there: paths are nothing here, of functions too, which
//!   Scala makes functions that call them.
//! - A pattern with several names is a `match` and a selection for each name there, and nothing here.
//! - What only Rust needs is nothing: `&`, `*`, and `clone`, `to_owned`, `iter`, `into_iter`.
//! - What the JVM throws out of the middle of a statement, we panic for: `panic!`, and an `if` that does nothing else, are
//!   nothing. The faults 15.2 and 16.2, divisions by zero there, count as the others.
//! - What a class, an object and implicit arguments have (class tags, orderings) is not in our sources at all, nor is `const`.
//! - A `()` for an `else` that is not there has run here once the condition has.
//!
//! A statement lies where it starts, that of a method at the method's name, that of a branch where its first statement does; and it
//! ran if that line did. If the line has no code (constants are often chosen without any, and `group_by_key` may be inlined
//! whole), the nearest place around it that has stands for it: a condition's branches, of which one runs after it; where the
//! expression around it starts; what runs before it in its block, or after; all of its closure; and then the same for what is
//! around that. A fault ran if it was found.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use sandglass_benches::Error;
use sandglass_guests::Dataflow;
use sandglass_runtime::cover::Share;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Block, Expr, ExprIf, ExprMethodCall, Item, Lit, Macro, Stmt, Token, UnOp};

use crate::Result;

/// Methods that Scala does not need.
const TRANSPARENT: [&str; 4] = ["clone", "to_owned", "iter", "into_iter"];

/// The program whose archive has 7 statements, where that of its twin P8 has 27: its faults cannot be among them. (A
/// `collect()` at the end of a chain makes all of the chain one statement.) So here they do not count either.
const WITHOUT_FAULTS: &str = "p6";

/// The statements of a program.
pub(crate) struct Statements(Vec<Shown>);

/// What shows that a statement ran.
enum Shown {
    /// That any of these lines did.
    Lines(Vec<u32>),
    /// That this fault was found: compilers give code of its line to what runs anyway.
    Fault(String),
}

impl Statements {
    /// Of a program whose module has code for these lines.
    ///
    /// Errs if there is something in its source that has no rule, or a statement without any code.
    pub(crate) fn new(program: &Dataflow, lines: &[u32]) -> Result<Statements> {
        let has_code = |place: &RangeInclusive<u32>| -> Option<Vec<u32>> {
            let within = lines.iter().copied().filter(|line| place.contains(line));
            Some(within.collect()).filter(|within: &Vec<u32>| !within.is_empty())
        };
        let mut all = Vec::new();
        for statement in statements(program.source)? {
            if let Some(fault) = statement.fault {
                if program.name != WITHOUT_FAULTS {
                    all.push(Shown::Fault(fault));
                }
                continue;
            }
            let shown = statement.places.iter().find_map(has_code);
            all.push(Shown::Lines(shown.ok_or_else(|| {
                let (name, at) = (program.name, statement.places[0].start());
                format!("{name}.rs:{at}: a statement, and no code there or around it")
            })?));
        }
        Ok(Statements(all))
    }

    /// How many ran, if these lines with code did not, and these faults were found.
    pub(crate) fn share<T>(&self, missed: &[u32], found: &BTreeMap<String, T>) -> Share {
        let ran = |shown: &&Shown| match shown {
            Shown::Lines(lines) => lines.iter().any(|line| !missed.contains(line)),
            Shown::Fault(fault) => found.contains_key(fault),
        };
        Share {
            reached: self.0.iter().filter(ran).count() as u64,
            all: self.0.len() as u64,
        }
    }
}

/// One statement.
#[derive(Debug, PartialEq)]
struct Statement {
    /// Where it starts; and then, innermost first, what is around it. The first of these places that has code is its own.
    places: Vec<RangeInclusive<u32>>,
    /// If it is a fault, or the branch that has nothing else, which.
    fault: Option<String>,
}

/// All statements of a source, in its order.
fn statements(source: &str) -> Result<Vec<Statement>> {
    let mut walk = Walk::default();
    for item in syn::parse_file(source)?.items {
        walk.item(&item)?;
    }
    Ok(walk.found)
}

/// A walk through a source.
#[derive(Default)]
struct Walk {
    found: Vec<Statement>,
    /// Places around what comes next, outermost first.
    around: Vec<RangeInclusive<u32>>,
}

impl Walk {
    fn item(&mut self, item: &Item) -> Result<()> {
        match item {
            Item::Fn(function) => self.block(&function.block),
            // Nothing of it runs.
            Item::Use(_) | Item::Type(_) | Item::Const(_) | Item::Macro(_) => Ok(()),
            other => Err(unknown(line(other), "item")),
        }
    }

    fn block(&mut self, block: &Block) -> Result<()> {
        let around = self.around.len();
        // Last of all, what runs later.
        let later = block.stmts.iter().rev().flat_map(|part| head(part).rev());
        self.around.extend(later.map(only));
        for part in &block.stmts {
            self.part(part)?;
            self.around.extend(head(part).map(only));
        }
        self.around.truncate(around);
        Ok(())
    }

    fn part(&mut self, part: &Stmt) -> Result<()> {
        match part {
            Stmt::Local(local) => {
                let Some(init) = &local.init else {
                    return Ok(());
                };
                self.within(line(local), |walk| {
                    walk.expr(&init.expr)?;
                    match &init.diverge {
                        Some((_, otherwise)) => walk.expr(otherwise),
                        None => Ok(()),
                    }
                })
            }
            Stmt::Item(item) => self.item(item),
            Stmt::Expr(expr, _) => self.expr(expr),
            Stmt::Macro(part) => {
                self.within(line(part), |walk| walk.of_macro(line(part), &part.mac))
            }
        }
    }

    /// What `process` does.
    fn expr(&mut self, expr: &Expr) -> Result<()> {
        self.within(line(expr), |walk| walk.of_expr(expr))
    }

    fn of_expr(&mut self, expr: &Expr) -> Result<()> {
        if let Some(inner) = transparent(expr) {
            return self.expr(inner);
        }
        let at = line(expr);
        match expr {
            Expr::Path(_) => {}
            Expr::Lit(_) => self.count(at),
            Expr::Tuple(tuple) if tuple.elems.is_empty() => self.count(at),
            Expr::Unary(unary) if is_literal(&unary.expr) => self.count(at),
            Expr::Call(_) if fault(expr).is_some() => self.count_as(at, fault(expr)),
            Expr::Macro(of) => self.of_macro(at, &of.mac)?,
            Expr::If(of) if is_check(of) => {}
            Expr::If(of) => self.of_if(at, of)?,
            Expr::Closure(closure) => {
                // Its first line is of the call that it is handed to.
                let around = self.around.len();
                self.around.push(at + 1..=end(expr));
                self.expr(&closure.body)?;
                self.around.truncate(around);
            }
            Expr::Block(block) => self.block(&block.block)?,
            Expr::Assign(assign) if is_constant(&assign.left) => self.expr(&assign.right)?,
            Expr::Return(of) => of.expr.as_ref().map_or(Ok(()), |expr| self.expr(expr))?,
            Expr::While(of) => {
                self.expr(&of.cond)?;
                self.count(first(&of.body).unwrap_or(at));
                self.block(&of.body)?;
                // The jump; and the other branch, with `()`.
                (0..3).for_each(|_| self.count(at));
            }
            Expr::ForLoop(of) => {
                self.count(at);
                self.applied(&of.expr)?;
                self.block(&of.body)?;
            }
            _ => match (selected(expr), application(expr)) {
                (Some(base), _) => {
                    self.count(at);
                    self.applied(base)?;
                }
                (_, Some(of)) => {
                    self.count(of.line);
                    if !of.arguments.iter().all(|argument| is_constant(argument)) {
                        self.within_application(&of)?;
                    }
                }
                _ => return Err(unknown(at, "expression")),
            },
        }
        Ok(())
    }

    /// What `traverseApplication` does with what something is applied to.
    fn applied(&mut self, expr: &Expr) -> Result<()> {
        self.within(line(expr), |walk| {
            match (transparent(expr).or(selected(expr)), application(expr)) {
                (Some(inner), _) => walk.applied(inner),
                (_, Some(of)) if fault(expr).is_none() => walk.within_application(&of),
                _ => walk.of_expr(expr),
            }
        })
    }

    fn within_application(&mut self, of: &Application<'_>) -> Result<()> {
        if let Some(to) = of.to {
            self.applied(to)?;
        }
        (of.arguments.iter()).try_for_each(|argument| self.expr(argument))
    }

    fn of_if(&mut self, at: u32, of: &ExprIf) -> Result<()> {
        let around = self.around.len();
        if of.else_branch.is_some() {
            // After the condition one of the branches runs.
            self.around.push(at + 1..=end(of));
        }
        self.expr(&of.cond)?;
        self.around.truncate(around);
        self.branch(at, &of.then_branch)?;
        match &of.else_branch {
            // `()`, and its branch.
            None => (0..2).for_each(|_| self.count(at)),
            Some((_, otherwise)) => match &**otherwise {
                Expr::Block(block) => self.branch(at, &block.block)?,
                next => {
                    self.count(line(next));
                    self.expr(next)?;
                }
            },
        }
        Ok(())
    }

    /// A branch of an `if` that starts at a line.
    fn branch(&mut self, at: u32, block: &Block) -> Result<()> {
        let only = match &block.stmts[..] {
            [Stmt::Expr(expr, _)] => fault(expr),
            _ => None,
        };
        self.count_as(first(block).unwrap_or(at), only);
        self.block(block)
    }

    fn of_macro(&mut self, at: u32, of: &Macro) -> Result<()> {
        if of.path.is_ident("panic") {
            return Ok(());
        }
        let parts = of.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated)?;
        let mut parts = parts.iter();
        let (true, Some(Expr::Lit(text))) = (of.path.is_ident("format"), parts.next()) else {
            return Err(unknown(at, "macro"));
        };
        let Lit::Str(text) = &text.lit else {
            return Err(unknown(at, "macro"));
        };
        self.count(at);
        if !parts.clone().all(is_constant) {
            let values = text.value().replace("{{", "").matches('{').count();
            (0..=values).for_each(|_| self.count(at));
            parts.try_for_each(|part| self.expr(part))?;
        }
        Ok(())
    }

    /// Goes on within an expression that starts here.
    fn within(&mut self, line: u32, go_on: impl FnOnce(&mut Walk) -> Result<()>) -> Result<()> {
        self.around.push(only(line));
        let end = go_on(self);
        self.around.pop();
        end
    }

    fn count(&mut self, line: u32) {
        self.count_as(line, None);
    }

    fn count_as(&mut self, line: u32, fault: Option<String>) {
        let around = self.around.iter().rev().cloned();
        self.found.push(Statement {
            places: [only(line)].into_iter().chain(around).collect(),
            fault,
        });
    }
}

/// Something applied to arguments.
struct Application<'a> {
    line: u32,
    to: Option<&'a Expr>,
    arguments: Vec<&'a Expr>,
}

/// If it is one.
fn application(expr: &Expr) -> Option<Application<'_>> {
    let of = |to, arguments| {
        let line = line(expr);
        Some(Application {
            line,
            to,
            arguments,
        })
    };
    match expr {
        Expr::Call(call) => of(Some(&call.func), call.args.iter().collect()),
        Expr::MethodCall(call) => Some(Application {
            line: line(&call.method),
            to: Some(&call.receiver),
            arguments: call.args.iter().collect(),
        }),
        Expr::Binary(binary) => of(Some(&binary.left), vec![&binary.right]),
        Expr::Index(index) => of(Some(&index.expr), vec![&index.index]),
        Expr::Range(range) => of(
            range.start.as_deref(),
            range.end.as_deref().into_iter().collect(),
        ),
        Expr::Tuple(tuple) => of(None, tuple.elems.iter().collect()),
        Expr::Array(array) => of(None, array.elems.iter().collect()),
        Expr::Repeat(repeat) => of(None, vec![&repeat.expr, &repeat.len]),
        _ => None,
    }
}

/// What something is selected of.
fn selected(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Field(field) => Some(&field.base),
        Expr::Cast(cast) => Some(&cast.expr),
        Expr::Unary(unary) if !is_literal(&unary.expr) => Some(&unary.expr),
        _ => None,
    }
}

/// What is left of what only Rust needs.
fn transparent(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Paren(paren) => Some(&paren.expr),
        Expr::Group(group) => Some(&group.expr),
        Expr::Reference(reference) => Some(&reference.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => Some(&unary.expr),
        Expr::MethodCall(ExprMethodCall {
            receiver, method, ..
        }) if TRANSPARENT.iter().any(|name| method == name) => Some(receiver),
        _ => None,
    }
}

/// A name or a literal.
fn is_constant(expr: &Expr) -> bool {
    match transparent(expr) {
        Some(inner) => is_constant(inner),
        None => match expr {
            Expr::Path(_) | Expr::Lit(_) => true,
            Expr::Unary(unary) => is_literal(&unary.expr),
            _ => false,
        },
    }
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Lit(_))
}

/// The fault that a call triggers.
fn fault(expr: &Expr) -> Option<String> {
    let Expr::Call(call) = expr else {
        return None;
    };
    match (&*call.func, call.args.first()) {
        (Expr::Path(path), Some(Expr::Lit(of))) if path.path.is_ident("fault") => match &of.lit {
            Lit::Str(id) => Some(id.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether it does nothing but panic.
fn is_check(of: &ExprIf) -> bool {
    let panics =
        matches!(&of.then_branch.stmts[..], [Stmt::Macro(part)] if part.mac.path.is_ident("panic"));
    panics && of.else_branch.is_none()
}

/// Where the first statement of a block starts.
fn first(block: &Block) -> Option<u32> {
    block.stmts.first().map(line)
}

fn only(line: u32) -> RangeInclusive<u32> {
    line..=line
}

/// Lines from the start of a statement to the name of its last method.
fn head(part: &Stmt) -> RangeInclusive<u32> {
    let expr = match part {
        Stmt::Local(local) => local.init.as_ref().map(|init| &*init.expr),
        Stmt::Expr(expr, _) => Some(expr),
        _ => None,
    };
    let end = match expr {
        Some(Expr::MethodCall(call)) => line(&call.method),
        _ => line(part),
    };
    line(part)..=end
}

fn end(of: &impl Spanned) -> u32 {
    of.span().end().line as u32
}

fn line(of: &impl Spanned) -> u32 {
    of.span().start().line as u32
}

fn unknown(line: u32, what: &str) -> Error {
    format!("line {line}: an {what} that no rule is for").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::Prepared;
    use crate::programs::PROGRAMS;

    /// Statements by the line that they lie on, whether it has code or not.
    fn by_line(source: &str) -> BTreeMap<u32, usize> {
        let mut all = BTreeMap::new();
        for statement in statements(source).expect("there are rules for all of it") {
            *all.entry(*statement.places[0].start()).or_default() += 1;
        }
        all
    }

    fn of_body(body: &str) -> Vec<(u32, usize)> {
        by_line(&format!("fn f() {{\n{body}\n}}"))
            .into_iter()
            .collect()
    }

    /// The numbers are those of scoverage's own tests, where a test there has the same program.
    #[test]
    fn statements_are_counted_as_scoverage_does() {
        let total = |body| of_body(body).iter().map(|(_, count)| count).sum::<usize>();
        // `final val name = { val name = "sammy"; if (System.currentTimeMillis() > 0) { println(name) } }`
        assert_eq!(
            total(r#"{ let name = "sammy"; if now() > 0 { say(name) } }"#),
            6
        );
        // `new CountDownLatch(if (System.currentTimeMillis > 1) 5 else 10)`
        assert_eq!(total("latch(if now() > 1 { 5 } else { 10 })"), 6);
        // `new String(new String(new String))`
        assert_eq!(total("string(string(string()))"), 3);
        // `for (string <- list) println(string)`
        assert_eq!(total("for string in list { say(string); }"), 2);
        // One window: two comparisons, `&&`, the throw with its branch, `()` with its branch.
        assert_eq!(total(r#"if x > 5 && x < 6 { fault("1.1"); }"#), 7);
        // A chain that ends without arguments is one, whatever is in it.
        assert_eq!(total("a.map(|x| x + 1).filter(|x| x > 2 + y).collect()"), 1);
        assert_eq!(total("a.map(|x| x + 1).filter(|x| x > y + 2)"), 4);
        assert_eq!(total("let y = (-1, a.0, b.c(d), !e, f as i32);"), 6);
        assert_eq!(total(r#"format!("{a} {b}")"#), 1);
        assert_eq!(total(r#"format!("{}*{b}", a[0])"#), 5);
        assert_eq!(total("while x != 1 { x += 1; }"), 6);
        assert_eq!(total("x = &*y.clone(); return z;"), 0);
        assert_eq!(
            total(r#"if x == 0 { panic!("division by zero"); } x / y"#),
            1
        );
    }

    #[test]
    fn statements_lie_where_they_start() {
        let body = "let x = sets\n.cells(0)\n.map(|cells| {\nif cells == 1 {\n\nfault(\"1.1\");\n} else {\n2\n}\n});";
        // The receiver of `map` is not a statement.
        assert_eq!(of_body(body), [(3, 1), (4, 1), (5, 1), (7, 2), (9, 2)]);
        let found = statements(&format!("fn f() {{\n{body}\n}}")).expect("there are rules for it");
        assert_eq!(
            found
                .iter()
                .filter(|statement| statement.fault.is_some())
                .count(),
            2
        );
        let starts = |nth: usize| found[nth].places.clone();
        // The number at the end: itself, the `if`, what is in the closure, and the lines of the call.
        let last = starts(found.len() - 1);
        let mut last = last.iter().filter(|place| **place != (5..=5));
        assert_eq!(last.next(), Some(&(9..=9)));
        assert!(last.any(|place| *place == (5..=11)));
        // The condition: the branches rather than what is around it.
        let condition = starts(2);
        let branches = condition.iter().position(|place| *place == (6..=10));
        let call = condition.iter().position(|place| *place == (4..=4));
        assert!(branches.is_some() && branches < call);
    }

    #[test]
    fn what_has_no_rule_is_refused() {
        let told = |source| statements(source).unwrap_err().to_string();
        assert_eq!(
            told("fn f() {\nloop {} }"),
            "line 2: an expression that no rule is for"
        );
        assert_eq!(told("struct S;"), "line 1: an item that no rule is for");
        assert!(statements("fn f() {").is_err());
    }

    /// Each weighs on a line that has code, and faults on their own.
    #[test]
    fn statements_of_all_programs_have_code() {
        for program in PROGRAMS {
            let prepared = Prepared::new(program).expect("it is a target");
            let lines = prepared.lines_with_code().expect("it has lines");
            let has_code = |line| lines.contains(&line);
            let all = statements(program.guest().source).expect("there are rules for all of it");
            let faults = all.iter().filter(|statement| statement.fault.is_some());
            assert!(
                faults
                    .clone()
                    .all(|fault| has_code(*fault.places[0].start()))
            );
            let guest = program.guest();
            let ids = guest.faults.len() + guest.infeasible.len();
            assert_eq!(faults.clone().count(), 2 * ids, "{}", program.name);
            let left_out = match program.name {
                WITHOUT_FAULTS => faults.count(),
                _ => 0,
            };
            let counted = Statements::new(guest, &lines).expect("all of them have code");
            assert_eq!(counted.0.len(), all.len() - left_out, "{}", program.name);
            let none = BTreeMap::<String, ()>::new();
            assert_eq!(counted.share(&lines, &none).reached, 0);
            let known = guest.faults.iter().map(|(fault, _)| *fault);
            let known = known.chain(guest.infeasible.iter().copied());
            let found = known.map(|fault| (fault.to_owned(), ())).collect();
            let share = counted.share(&[], &found);
            assert_eq!(share.reached, share.all, "{}", program.name);
        }
    }
}
