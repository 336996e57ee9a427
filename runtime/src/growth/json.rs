//! A family's growth as JSON, one object a line: members, the laws of functions, and that of the total.

use sandglass_engine::laws::exact::Certificate;
use sandglass_engine::laws::{Growth, Tier};
use sandglass_instrument::CostModel;
use serde::Serialize;

use super::Report;
use crate::store::record::is_plain;

/// What a family was made of.
#[derive(Serialize)]
pub struct Family {
    /// The module's path, as the user gave it.
    pub target: String,
    /// blake3 of the module, hexadecimal.
    pub target_hash: String,
    /// What fuel counts; absent for plain counts.
    #[serde(skip_serializing_if = "is_plain")]
    pub cost_model: CostModel,
    /// The input's path.
    pub file: String,
    /// Where in it the repeated part begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// How often it stands there.
    pub count: usize,
    /// The part, escaped.
    pub fragment: String,
    /// Why that part: `named` by the user, the `costliest`, or the `fastest` to grow.
    pub chosen: &'static str,
    /// Why there are no further members.
    pub ended: Option<String>,
}

/// Members, and the laws of functions: `member` and `law`.
pub fn lines(report: &Report) -> Vec<String> {
    let members = report.series.members.iter().map(|member| {
        text(&MemberLine {
            event: "member",
            n: member.n,
            input_bytes: member.bytes,
            fuel: member.fuel,
            kind: member.exit.kind(),
        })
    });
    let functions = report.functions.iter().map(|function| {
        let name = Some(&function.name[..]);
        text(&law_line(
            "law",
            &function.growth,
            function.fuel,
            name,
            None,
        ))
    });
    members.chain(functions).collect()
}

/// The law of the total as the last object of several: `summary`.
pub fn summary(report: &Report, family: Family) -> String {
    total("summary", report, Some(family))
}

/// The same as one object among others: a `law` without a function.
pub fn total_law(report: &Report) -> String {
    total("law", report, None)
}

fn total(event: &'static str, report: &Report, family: Option<Family>) -> String {
    let fuel = report.series.members.last().map_or(0, |member| member.fuel);
    text(&law_line(event, &report.total, fuel, None, family))
}

#[derive(Serialize)]
struct MemberLine {
    event: &'static str,
    n: u64,
    input_bytes: u64,
    fuel: u64,
    kind: &'static str,
}

/// The growth of one function, or of the total: then with what the family is.
#[derive(Serialize)]
struct LawLine<'a> {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'a str>,
    /// In the largest member.
    fuel: u64,
    tier: &'static str,
    law: String,
    class: Option<String>,
    /// The first member that an exact law holds for.
    since: Option<u64>,
    certificate: Option<CertificateLine>,
    /// A law that failed, if none holds.
    refuted: Option<String>,
    refuted_by: Option<CertificateLine>,
    /// The last exponents on doubling, in thousandths.
    exponents_milli: Option<[i32; 3]>,
    #[serde(flatten)]
    family: Option<Family>,
}

#[derive(Serialize)]
struct CertificateLine {
    n: u64,
    /// As text: it may leave 64 bits.
    predicted: Option<String>,
    measured: u64,
    /// Members that were predicted, this one included.
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<usize>,
}

fn law_line<'a>(
    event: &'static str,
    growth: &Growth,
    fuel: u64,
    function: Option<&'a str>,
    family: Option<Family>,
) -> LawLine<'a> {
    let certificate_line = |certificate: &Certificate, members: Option<usize>| CertificateLine {
        n: certificate.n,
        predicted: certificate.predicted.map(|value| value.to_string()),
        measured: certificate.measured,
        members,
    };
    let (mut since, mut certificate, mut exponents_milli) = (None, None, None);
    match &growth.tier {
        Tier::Exact(exact) => {
            since = Some(exact.law.since());
            let count = Some(exact.certificates.len());
            certificate = exact
                .certificates
                .last()
                .map(|largest| certificate_line(largest, count));
        }
        Tier::Doubling(doubling) => exponents_milli = Some(doubling.exponents_milli),
        Tier::Model(_) | Tier::Unknown => {}
    }
    let refuted = growth.refuted.as_ref();
    LawLine {
        event,
        function,
        fuel,
        tier: growth.tier.name(),
        law: growth.tier.to_string(),
        class: growth.tier.class(),
        since,
        certificate,
        refuted: refuted.map(|refuted| refuted.law.to_string()),
        refuted_by: refuted.map(|refuted| certificate_line(&refuted.certificate, None)),
        exponents_milli,
        family,
    }
}

fn text(line: &impl Serialize) -> String {
    serde_json::to_string(line).expect("numbers and text")
}
