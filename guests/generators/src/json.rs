//! JSON texts, always syntactically right: a control without a semantic stage.

use std::fmt::Write;

use sandglass_sdk::{Depth, one_of, span, structure, value};

/// Levels of arrays and objects. Three children on average leave texts small; chosen by trying.
const LEVELS: u32 = 6;

const KEYS: &[&str] = &["id", "name", "value", "items", "type", "next", "a", ""];

/// A value, with objects and arrays up to six deep.
pub fn text() -> String {
    let mut text = String::with_capacity(1024);
    any(&mut text, Depth::of(LEVELS));
    text
}

fn any(text: &mut String, depth: Depth) {
    let _span = span!("value");
    match depth.down() {
        Some(depth) if structure!().chance(2, 3) => {
            if structure!().boolean() {
                members(text, '[', ']', |text| any(text, depth));
            } else {
                members(text, '{', '}', |text| {
                    string(text);
                    text.push(':');
                    any(text, depth);
                });
            }
        }
        _ => one_of!(structure!();
            text.push_str("null"),
            text.push_str(if value!().boolean() { "true" } else { "false" }),
            number(text),
            string(text)),
    }
}

fn members(text: &mut String, open: char, close: char, mut member: impl FnMut(&mut String)) {
    text.push(open);
    for index in structure!().repeat_while(0..=64, 3, 4) {
        if index > 0 {
            text.push(',');
        }
        member(text);
    }
    text.push(close);
}

fn number(text: &mut String) {
    one_of!(structure!();
    3 => put(text, value!().int(-10..=999)),
    1 => put(text, value!().int::<i64>(..)),
    1 => {
        put(text, value!().int(-9..=9));
        text.push('.');
        put(text, value!().int(0..=999_999));
    },
    1 => {
        put(text, value!().int(-9..=9));
        text.push('e');
        put(text, value!().int(-300..=300));
    });
}

fn put(text: &mut String, number: impl std::fmt::Display) {
    write!(text, "{number}").expect("text takes everything");
}

fn string(text: &mut String) {
    text.push('"');
    if structure!().chance(3, 4) {
        text.push_str(value!().word(KEYS));
    } else {
        for _ in value!().repeat_while(0..=32, 3, 4) {
            character(text, value!().char('\0'..=char::MAX));
        }
    }
    text.push('"');
}

fn character(text: &mut String, character: char) {
    match character {
        '"' => text.push_str("\\\""),
        '\\' => text.push_str("\\\\"),
        '\0'..='\x1f' => {
            write!(text, "\\u{:04x}", character as u32).expect("text takes everything")
        }
        other => text.push(other),
    }
}
