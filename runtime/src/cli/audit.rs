//! `sandglass audit`: whether what campaigns claim to each other is true.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use sandglass_exchange::{Cursor, Entry, Exchange};
use sandglass_sandbox::on_guest_thread;

use super::joined::{Joined, JoinedArgs};
use crate::error::{exit_code, printable, show};
use crate::join::audit::{Audit, Ran, audit};
use crate::join::finding;
use crate::join::gathered::Gathered;
use crate::report::Sink;
use crate::report::plain::{number, plural};

/// Entries that are read at once.
const TAIL_MOST: usize = 256;

/// `sandglass audit`
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct AuditArgs {
    /// The module
    pub target: PathBuf,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub joined: JoinedArgs,
    /// Keep what was run, as other verbs read it: inputs in DIR/corpus, findings in DIR/findings [a new folder]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

const HELP: &str = "\
Runs all entries and findings again and compares edges, fuel and validity with what was claimed. Fails (exit code 1) when a claim
about this module, called like this, is not true. Claims about other modules are counted; their inputs are run, too.
An entry or finding of as much fuel as --fuel allows, or of more bytes than --max-len, is not checked: give more. With --out,
`sandglass repro TARGET.wasm DIR/findings/*` replays what is there, `cmin` makes its corpus small.";

pub(super) fn run(args: &AuditArgs) -> Result<u8> {
    let joined = Joined::new(&args.target, &args.joined)?;
    let mut connection = joined.open()?;
    let exchange = &mut *connection.exchange;
    let entries = entries(exchange).map_err(|error| joined.error(&error))?;
    let findings = finding::all(exchange).map_err(|error| joined.error(&error))?;
    let refused = exchange.refused();
    let mut gathered = args.out.as_deref().map(Gathered::new).transpose()?;
    let (target, limits) = (&joined.target, &joined.limits);
    let mut keep = |ran: Ran<'_>| gathered.as_mut().map_or(Ok(()), |all| all.keep(ran));
    let audit = on_guest_thread(|| {
        audit(
            target,
            limits,
            joined.meaning,
            &entries,
            &findings,
            &mut keep,
        )
    })?;
    let mut sink = Sink::stdout();
    report(&audit, refused, &mut sink);
    if let (Some(gathered), Some(out)) = (gathered, &args.out) {
        sink.line(&format!(
            "{}: {}, {}",
            show(out),
            plural(gathered.inputs, "input"),
            plural(gathered.findings, "finding")
        ));
    }
    Ok(match audit.lies.is_empty() {
        true => exit_code::FINE,
        false => exit_code::FINDINGS,
    })
}

fn entries(exchange: &mut dyn Exchange) -> Result<Vec<Entry>, sandglass_exchange::Error> {
    let (mut all, mut cursor) = (Vec::new(), Cursor::default());
    loop {
        let at = cursor.clone();
        let some = exchange.tail(&mut cursor, TAIL_MOST)?;
        if some.is_empty() && cursor == at {
            break;
        }
        all.extend(some);
    }
    // What two found at one moment may be there twice, with claims of their own.
    all.sort_by_key(|entry| (entry.id(), entry.worker.clone()));
    all.dedup();
    Ok(all)
}

fn report(audit: &Audit, refused: u64, sink: &mut Sink) {
    let entries = match audit.entries {
        1 => "1 entry".to_owned(),
        n => format!("{} entries", number(n)),
    };
    let mut line = format!("{entries}: {} true", plural(audit.held, "claim"));
    for (count, what) in [
        (audit.foreign, "of other modules"),
        (audit.silent, "without a claim"),
        (audit.unchecked, "not checked"),
    ] {
        if count > 0 {
            line.push_str(&format!(", {} {what}", number(count)));
        }
    }
    line.push_str(&format!("; {} true", plural(audit.findings, "finding")));
    if refused > 0 {
        line.push_str(&format!(
            "; {} malformed and left out",
            plural(refused, "record")
        ));
    }
    sink.line(&line);
    let [claimed, covered] = audit.edges;
    sink.line(&format!(
        "edges of all together: {} claimed, {} covered",
        number(claimed),
        number(covered)
    ));
    for lie in &audit.lies {
        sink.line(&format!(
            "FALSE {} by {}: {}",
            printable(&lie.what),
            printable(&lie.worker),
            printable(&lie.why)
        ));
    }
}
