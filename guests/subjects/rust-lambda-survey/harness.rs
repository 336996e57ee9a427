//! A survey with its answers arrives in a bucket: they are checked, counted, and reported by the survey's own template.
#![allow(dead_code, reason = "nobody reads why a handler gives up")]

use std::collections::BTreeMap;

use aws_lambda_events::s3::{S3Event, S3EventRecord};
use cloud::{Cloud, CloudError, Item};
use minijinja::{Environment, context};
use serde::Deserialize;

cloud::handler!(handle);

enum Failure {
    Event,
    Cloud(CloudError),
    Survey(serde_json::Error),
    Answer(&'static str),
    Report(minijinja::Error),
}

#[derive(Deserialize)]
struct Survey {
    title: String,
    version: u32,
    #[serde(default)]
    anonymous: bool,
    questions: Vec<Question>,
    answers: Vec<BTreeMap<String, serde_json::Value>>,
    report: Option<String>,
}

#[derive(Deserialize)]
struct Question {
    id: String,
    #[serde(flatten)]
    kind: Kind,
    #[serde(default)]
    required: bool,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Kind {
    Text { max: Option<usize> },
    Number { min: f64, max: f64 },
    Choice { options: Vec<String>, #[serde(default)] several: bool },
    Rating,
}

fn handle(cloud: &mut Cloud) -> Result<(), Failure> {
    let event: S3Event = serde_json::from_slice(cloud.event()).map_err(|_| Failure::Event)?;
    for record in event.records {
        upload(cloud, record)?;
    }
    Ok(())
}

fn upload(cloud: &mut Cloud, record: S3EventRecord) -> Result<(), Failure> {
    let (Some(bucket), Some(key)) = (record.s3.bucket.name, record.s3.object.key) else {
        return Err(Failure::Event);
    };
    if !key.ends_with(".json") {
        return Err(Failure::Event);
    }
    let body = cloud.get_object(&bucket, &key).map_err(Failure::Cloud)?;
    let survey: Survey = serde_json::from_slice(body).map_err(Failure::Survey)?;
    if survey.version != 1 && survey.version != 2 {
        return Err(Failure::Answer("a version that nobody knows"));
    }
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for answers in &survey.answers {
        for question in &survey.questions {
            let given = answers.get(&question.id).filter(|given| !given.is_null());
            match given {
                Some(given) => count(&mut counts, question, given)?,
                None if question.required => return Err(Failure::Answer("an answer is missing")),
                None => {}
            }
        }
        if !survey.anonymous && survey.version == 2 && !answers.contains_key("email") {
            return Err(Failure::Answer("nobody answered"));
        }
    }
    let closed = cloud.get_item("surveys", &survey.title);
    if let Ok(Some(known)) = closed
        && known.get("state").map(String::as_str) == Some("closed")
    {
        return Err(Failure::Answer("too late"));
    }
    if let Some(template) = &survey.report {
        let text = report(template, &survey, &counts).map_err(Failure::Report)?;
        cloud.put_object("reports", &key, text.into_bytes()).map_err(Failure::Cloud)?;
    }
    let item = item(&counts);
    cloud.put_items("surveys", vec![(survey.title, item)]).map_err(Failure::Cloud)
}

fn count(counts: &mut BTreeMap<String, u32>, question: &Question, given: &serde_json::Value) -> Result<(), Failure> {
    match &question.kind {
        Kind::Text { max } => {
            let text = given.as_str().ok_or(Failure::Answer("no text"))?;
            if max.is_some_and(|max| text.chars().count() > max) {
                return Err(Failure::Answer("a text is too long"));
            }
        }
        Kind::Number { min, max } => {
            let number = given.as_f64().ok_or(Failure::Answer("no number"))?;
            if number < *min || number > *max {
                return Err(Failure::Answer("a number is out of range"));
            }
        }
        Kind::Choice { options, several } => {
            let chosen = match given {
                serde_json::Value::Array(chosen) if *several => chosen.as_slice(),
                other => std::slice::from_ref(other),
            };
            for one in chosen {
                let one = one.as_str().ok_or(Failure::Answer("no option"))?;
                if !options.iter().any(|option| option == one) {
                    return Err(Failure::Answer("no such option"));
                }
                *counts.entry(format!("{}: {one}", question.id)).or_default() += 1;
            }
            return Ok(());
        }
        Kind::Rating => match given.as_u64() {
            Some(stars @ 1..=5) => *counts.entry(format!("{}: {stars} stars", question.id)).or_default() += 1,
            _ => return Err(Failure::Answer("no stars")),
        },
    }
    *counts.entry(question.id.clone()).or_default() += 1;
    Ok(())
}

fn report(template: &str, survey: &Survey, counts: &BTreeMap<String, u32>) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_recursion_limit(40);
    let questions: Vec<&str> = survey.questions.iter().map(|question| question.id.as_str()).collect();
    environment.add_template("report", template)?;
    environment.get_template("report")?.render(context! {
        title => survey.title,
        answers => survey.answers,
        questions,
        counts,
    })
}

fn item(counts: &BTreeMap<String, u32>) -> Item {
    let mut item = Item::new();
    for (what, times) in counts {
        item.insert(what.clone(), times.to_string());
    }
    item
}
