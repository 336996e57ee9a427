//! How many instructions Cranelift emits for each operator.
//!
//! wasmtime compiles the functions of `operators.rs` for x86-64 without extensions, whatever machine this
//! is, with the settings that matter for guests; what can be reached from a function's start is decoded and
//! counted, but for the traps at its end. Cranelift that was built for other machines cannot do that.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl};
use wasmparser::{Operator, Parser, Payload};
use wasmtime::{Config, Engine, Module, OptLevel};

use crate::Result;
use crate::operators::{CALLS, MODULE, Template, templates};

/// What the weights are for.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Weights by name of the operator.
pub(crate) fn weights() -> Result<BTreeMap<String, u16>> {
    let templates = templates();
    let wasm = wat::parse_str(text(&templates))?;
    let names = names(&wasm, &templates)?;
    let counts = counts(&wasm)?;
    // The first function is the empty one; then they come in pairs.
    let (empty, pairs) = counts.split_first().ok_or("no functions")?;
    let mut weights = BTreeMap::new();
    for ((template, name), pair) in templates.iter().zip(names).zip(pairs.chunks(2)) {
        let mut count = pair[0].saturating_sub(pair[1]);
        if CALLS.contains(&template.text.as_str()) {
            count += empty;
        }
        // Whatever can close a cycle costs something, or an endless loop could be free.
        if template.text.starts_with("br") {
            count = count.max(1);
        }
        let before = weights.insert(name, u16::try_from(count)?);
        // `select` has two forms of one weight.
        assert!(
            before.is_none() || before == Some(count as u16),
            "{}: {before:?} and {count}",
            template.text
        );
    }
    Ok(weights)
}

fn text(templates: &[Template]) -> String {
    let mut functions = String::new();
    for template in templates {
        let params = template.params.join(" ");
        let address = template.params.iter().position(|param| *param == "i32");
        // A load of its own has the base of memory in a register.
        let load = match address {
            Some(at) => format!("(global.set $warm (i32.load (local.get {at})))"),
            None => String::new(),
        };
        for body in [&template.with, &template.without] {
            functions += &format!(
                "(func (export \"f{}\") (param {params}) {load} {body})\n",
                functions.len()
            );
        }
    }
    MODULE.replace(";;functions", &functions)
}

/// The operators' names as wasmparser spells them: of each pair the one that only the first function
/// has, or has more of.
fn names(wasm: &[u8], templates: &[Template]) -> Result<Vec<String>> {
    let mut bodies = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CodeSectionEntry(body) = payload? {
            let mut operators = BTreeMap::<String, usize>::new();
            for operator in body.get_operators_reader()? {
                *operators.entry(name(&operator?)).or_default() += 1;
            }
            bodies.push(operators);
        }
    }
    let ignored = ["LocalGet", "GlobalSet", "GlobalGet", "Block", "End"];
    let mut names = Vec::new();
    for (template, pair) in templates.iter().zip(bodies[1..].chunks(2)) {
        let more = |name: &&String| {
            let count = |body: &BTreeMap<String, usize>| body.get(*name).copied().unwrap_or(0);
            count(&pair[0]) > count(&pair[1])
        };
        let found: Vec<&String> = pair[0].keys().filter(more).collect();
        let of_interest = found.iter().find(|name| !ignored.contains(&name.as_str()));
        let found = match template.text.split(' ').next() {
            Some("local.get") => "LocalGet",
            Some("global.get") => "GlobalGet",
            Some("global.set") => "GlobalSet",
            _ => of_interest.ok_or_else(|| format!("{}: {found:?}", template.text))?,
        };
        names.push(found.to_owned());
    }
    Ok(names)
}

/// `I32Load { memarg: … }` is `I32Load`.
fn name(operator: &Operator<'_>) -> String {
    let text = format!("{operator:?}");
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// Instructions of each function, in order.
fn counts(wasm: &[u8]) -> Result<Vec<u64>> {
    let mut config = Config::new();
    config.target(TARGET)?;
    config
        .cranelift_opt_level(OptLevel::Speed)
        .wasm_exceptions(true)
        .wasm_gc(false)
        .memory_reservation(4 << 30)
        .memory_guard_size(32 << 20)
        .memory_may_move(false);
    let module = Module::new(&Engine::new(&config)?, wasm)?;
    let mut functions: Vec<_> = module.functions().collect();
    functions.sort_by_key(|function| function.index);
    let text = module.text();
    functions
        .iter()
        .map(|function| {
            let code = text.get(function.offset..function.offset + function.len);
            count(code.ok_or("a function lies outside of the text")?)
        })
        .collect()
}

/// Instructions that can be reached from the first, traps apart. What a jump through a table leads to is
/// known from its default alone.
fn count(code: &[u8]) -> Result<u64> {
    let (mut seen, mut waiting) = (BTreeSet::new(), vec![0]);
    let mut traps = 0;
    while let Some(at) = waiting.pop() {
        if !seen.insert(at) {
            continue;
        }
        let rest = code
            .get(at as usize..)
            .ok_or("code goes on behind its end")?;
        let instruction = Decoder::with_ip(64, rest, at, DecoderOptions::NONE).decode();
        let next = instruction.next_ip();
        match instruction.flow_control() {
            _ if instruction.code() == Code::Ud2 => traps += 1,
            FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => waiting.push(next),
            FlowControl::ConditionalBranch => {
                waiting.extend([next, instruction.near_branch_target()]);
            }
            FlowControl::UnconditionalBranch => waiting.push(instruction.near_branch_target()),
            FlowControl::Return | FlowControl::IndirectBranch => {}
            other => return Err(format!("{other:?} at {at}").into()),
        }
    }
    Ok(seen.len() as u64 - traps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reached_is_counted_once_and_traps_are_not() {
        // test edi, edi; je +4; add edi, edi; ret; nop (never reached); ud2
        let code = [0x85, 0xff, 0x74, 0x04, 0x01, 0xff, 0xc3, 0x90, 0x0f, 0x0b];
        assert_eq!(count(&code).unwrap(), 4);
        // An endless loop of one instruction.
        assert_eq!(count(&[0xeb, 0xfe]).unwrap(), 1);
        assert!(count(&[0x90]).is_err());
    }
}
