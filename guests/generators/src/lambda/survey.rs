//! Surveys with their answers and the template of their report.

use sandglass_sdk::{Depth, one_of, span, structure, value};

use super::{Cloud, json, key, text};

/// For the handler that reports surveys.
pub fn survey() -> Vec<u8> {
    let mut cloud = Cloud::of_files(|| (key(".json"), of_questions().into_bytes()));
    if structure!().boolean() {
        cloud.item("surveys", "Lunch", &["state"]);
    }
    cloud.into_bytes()
}

/// What a question asks for.
#[derive(Clone)]
enum Kind {
    Text,
    Number,
    Choice(Vec<String>),
    Rating,
}

fn of_questions() -> String {
    let _span = span!("Survey");
    let mut questions = Vec::new();
    let mut kinds = Vec::new();
    for nth in structure!().repeat_while(0..=6, 3, 4) {
        let _span = span!("Question");
        let (kind, of) = kind();
        let required = if value!().boolean() {
            ",\"required\":true"
        } else {
            ""
        };
        questions.push(format!("{{\"id\":\"q{nth}\",{of}{required}}}"));
        kinds.push(kind);
    }
    let mut answers = Vec::new();
    for _ in structure!().repeat_while(0..=6, 2, 3) {
        answers.push(answers_to(&kinds));
    }
    let title = one_of!(value!(); 3 => "Lunch".to_owned(), 1 => text());
    let anonymous = if value!().boolean() {
        "\"anonymous\":true,"
    } else {
        ""
    };
    let report = structure!().chance(3, 4).then(|| {
        let mut template = String::new();
        parts(&mut template, Depth::of(4));
        format!(",\"report\":{}", json(&template))
    });
    format!(
        "{{\"title\":{},\"version\":{},{anonymous}\"questions\":[{}],\"answers\":[{}]{}}}",
        json(&title),
        value!().int(0..=3),
        questions.join(","),
        answers.join(","),
        report.unwrap_or_default()
    )
}

fn kind() -> (Kind, String) {
    let _span = span!("Kind");
    one_of!(structure!();
        (Kind::Text, one_of!(value!(); "\"kind\":\"text\"".to_owned(), format!("\"kind\":\"text\",\"max\":{}", value!().int(0..=20)))),
        (Kind::Number, format!("\"kind\":\"number\",\"min\":{},\"max\":{}", value!().int(-9..=9), value!().int(0..=99))),
        choice(),
        (Kind::Rating, "\"kind\":\"rating\"".to_owned()),
        (Kind::Text, format!("\"kind\":{}", json(&text()))))
}

fn choice() -> (Kind, String) {
    let options: Vec<String> = structure!().vec(0..=4, |_| text());
    let several = if value!().boolean() {
        ",\"several\":true"
    } else {
        ""
    };
    let list: Vec<String> = options.iter().map(|option| json(option)).collect();
    let text = format!(
        "\"kind\":\"choice\",\"options\":[{}]{several}",
        list.join(",")
    );
    (Kind::Choice(options), text)
}

fn answers_to(kinds: &[Kind]) -> String {
    let mut answers = Vec::new();
    for (nth, kind) in kinds.iter().enumerate() {
        if structure!().chance(7, 8) {
            answers.push(format!("\"q{nth}\":{}", answer(kind)));
        }
    }
    if structure!().boolean() {
        let name = one_of!(value!(); 3 => "email".to_owned(), 1 => text());
        // Later ones of the same name would be refused.
        answers.push(format!("{}:{}", json(&name), json(&text())));
    }
    format!("{{{}}}", answers.join(","))
}

fn answer(kind: &Kind) -> String {
    if structure!().chance(1, 16) {
        return one_of!(structure!(); "null".to_owned(), json(&text()), value!().int(-9..=99).to_string(), "[]".to_owned());
    }
    match kind {
        Kind::Text => json(&text()),
        Kind::Number => value!().int(-9..=99).to_string(),
        Kind::Rating => value!().int(0..=6).to_string(),
        Kind::Choice(options) if options.is_empty() => json(&text()),
        Kind::Choice(options) => {
            let one = |_| json(value!().pick(options).as_str());
            let several = structure!().boolean();
            match several {
                true => format!("[{}]", structure!().vec(0..=3, one).join(",")),
                false => one(0),
            }
        }
    }
}

/// Parts of a template: text, values, loops, conditions.
fn parts(out: &mut String, depth: Depth) {
    let _span = span!("Template");
    for _ in structure!().repeat_while(0..=8, 2, 3) {
        match depth.down() {
            Some(depth) if structure!().boolean() => one_of!(structure!();
                {
                    out.push_str(&format!("{{% for x in {} %}}", expression(depth)));
                    parts(out, depth);
                    out.push_str("{% endfor %}");
                },
                {
                    out.push_str(&format!("{{% if {} %}}", expression(depth)));
                    parts(out, depth);
                    out.push_str("{% endif %}");
                },
                out.push_str(&format!("{{% set y = {} %}}", expression(depth)))),
            _ => one_of!(structure!();
                2 => out.push_str(&format!("{{{{ {} }}}}", expression(depth))),
                1 => out.push_str(&text())),
        }
    }
}

fn expression(depth: Depth) -> String {
    let names = [
        "title",
        "answers",
        "questions",
        "counts",
        "x",
        "y",
        "loop.index",
        "loop.last",
    ];
    let Some(depth) = depth.down() else {
        return value!().word(&names).to_owned();
    };
    let filters = [
        "length",
        "upper",
        "title",
        "first",
        "last",
        "sort",
        "join(', ')",
        "items",
        "list",
        "abs",
        "round",
        "default(1)",
    ];
    let tests = [
        "defined", "none", "odd", "even", "number", "string", "sequence", "mapping",
    ];
    let operators = [
        "+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", ">=", "and", "or", "in",
    ];
    one_of!(structure!();
        3 => value!().word(&names).to_owned(),
        1 => value!().int(-9..=99).to_string(),
        1 => json(&text()),
        2 => format!("{} | {}", expression(depth), value!().word(&filters)),
        1 => format!("{} is {}", expression(depth), value!().word(&tests)),
        2 => format!("({} {} {})", expression(depth), value!().word(&operators), expression(depth)),
        1 => format!("{}[{}]", value!().word(&names), expression(depth)))
}
