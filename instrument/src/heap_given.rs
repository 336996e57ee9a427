//! Given functions: the user's word for which functions of a module are its allocator's.
//!
//! In: texts as `malloc=my_alloc` or `strlen=#17`, and the original file. Out: function indices by the name of
//! what they do. Names that say nothing, and functions whose type is another, are errors: unlike names that
//! are found, these were meant.

use crate::heap_functions::known;
use crate::named::Functions;

/// A function that the user named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// What it does: one of the names in `heap_functions`.
    pub(crate) role: &'static str,
    /// Its index.
    pub(crate) function: u32,
}

/// The functions that `texts` name.
///
/// # Errors
/// With a message that begins with the text that is wrong.
pub(crate) fn resolve(wasm: &[u8], texts: &[String]) -> Result<Vec<Given>, String> {
    let mut given: Vec<Given> = Vec::new();
    for text in texts {
        let wrong = |what: String| format!("`{text}`: {what}");
        let (role, name) = text.split_once('=').unwrap_or((text, ""));
        if name.is_empty() {
            return Err(wrong(
                "expected a role and a function, as in malloc=my_alloc or malloc=#17".into(),
            ));
        }
        let (role, params, results) = known().find(|known| known.0 == role).ok_or_else(|| {
            let all = known().map(|known| known.0).collect::<Vec<_>>();
            wrong(format!("no role `{role}`, expected {}", all.join(", ")))
        })?;
        if given.iter().any(|given| given.role == role) {
            return Err(wrong(format!("`{role}` is given twice, expected it once")));
        }
        let functions = Functions::read(wasm, |found| (found == name).then_some(name))
            .map_err(|error| wrong(error.to_string()))?;
        let function = index(&functions, name).map_err(wrong)?;
        if !functions.is_i32(function, params, results) {
            let types = |count: usize| vec!["i32"; count].join(" ");
            return Err(wrong(format!(
                "function {function} has type {}, expected [{}] -> [{}]",
                functions.type_text(function),
                types(params),
                types(results)
            )));
        }
        given.push(Given { role, function });
    }
    Ok(given)
}

/// The function that `name` means: `#17`, or what an export or the name section says.
fn index(functions: &Functions, name: &str) -> Result<u32, String> {
    let (count, imported) = (functions.count(), functions.imported());
    if let Some(number) = name.strip_prefix('#') {
        let index = number.parse::<u32>().ok().filter(|index| *index < count);
        return match index {
            None => Err(format!(
                "no function {name}, expected an index below {count}"
            )),
            Some(index) if index < imported => Err(format!(
                "function {index} is imported, expected one of the module's own, from #{imported} on"
            )),
            Some(index) => Ok(index),
        };
    }
    if functions.is_ambiguous(name) {
        return Err(format!(
            "several functions are named `{name}`, and none is exported; expected an index, as in #{imported}"
        ));
    }
    functions.named(name).ok_or_else(|| {
        format!("no function of the module's own is named `{name}`, expected an export, a name of its name section, or an index, as in #{imported}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_indices_mean_functions() {
        let wasm = wat::parse_str(
            r#"(module (import "a" "b" (func $host (param i32) (result i32)))
                 (func $take (param i32) (result i32) unreachable) (func (export "give") (param i32))
                 (func $wide (param i64)) (func $two) (func (@name "two")))"#,
        );
        let wasm = wasm.expect("assembles");
        let found = |texts: &[&str]| {
            let texts = texts.iter().map(|text| (*text).to_owned());
            let found = resolve(&wasm, &texts.collect::<Vec<_>>())?;
            Ok::<_, String>(found.iter().map(|given| given.function).collect::<Vec<_>>())
        };
        assert_eq!(found(&["malloc=take", "free=give"]), Ok(vec![1, 2]));
        assert_eq!(found(&["strlen=#1"]), Ok(vec![1]));
        for (texts, expected) in [
            (&["malloc"][..], "expected a role and a function"),
            (&["take=malloc"], "no role `take`, expected malloc, free"),
            (&["free=give", "free=#2"], "given twice"),
            (&["free=nobody"], "no function of the module's own"),
            (&["malloc=host"], "no function of the module's own"),
            (&["malloc=#0"], "function 0 is imported"),
            (&["malloc=#6"], "expected an index below 6"),
            (&["malloc=#x"], "expected an index below 6"),
            (&["malloc=two"], "several functions are named `two`"),
            (&["free=wide"], "has type [i64] -> [], expected [i32] -> []"),
        ] {
            let message = found(texts).expect_err("it is wrong");
            assert!(message.contains(expected), "{message}");
        }
    }
}
