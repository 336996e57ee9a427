//! The program: a campaign's exchange on stdin and stdout, a NATS server behind it.
//!
//! Exit codes: 0 when stdin ends, 2 for a wrong invocation, 3 when the pipe breaks. A server that is
//! not there, or cannot be used as it is, is told and asked again: somebody may mend it.

use std::io::{BufReader, BufWriter, Write};
use std::process::ExitCode;
use std::time::Duration;

use sandglass_exchange::{Error, pipe};
use sandglass_nats::{Address, Nats, Settings};

/// So long we wait before we say that nobody is there, and go on without.
const PATIENCE: Duration = Duration::from_secs(3);
/// As much as most frames have.
const BUFFER: usize = 64 << 10;

const USAGE: &str = "\
usage: sandglass-nats nats://[USER:PASSWORD@]HOST[:PORT]/CAMPAIGN

Speaks with a campaign on stdin and stdout, and with a NATS server that has JetStream. It is started by
`sandglass fuzz --join nats://HOST:PORT/CAMPAIGN`; start a server with `nats-server -js -sd FOLDER`.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--help" | "-h"] => say(USAGE),
        ["--version" | "-V"] => say(concat!("sandglass-nats ", env!("CARGO_PKG_VERSION"), "\n")),
        [address] => relay(address),
        _ => {
            eprint!("error: one address is expected\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn say(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(3),
    }
}

fn relay(address: &str) -> ExitCode {
    let address = match Address::parse(address) {
        Ok(address) => address,
        Err(wrong) => return fail(2, &wrong.to_string()),
    };
    let mut nats = match Nats::open(&address, Settings::STANDARD) {
        Ok(nats) => nats,
        Err(error) => return fail(3, &error.to_string()),
    };
    match nats.wait(PATIENCE) {
        Ok(()) => eprintln!("sandglass-nats: joined {address}"),
        Err(Error::Away(why)) => {
            eprintln!("sandglass-nats: {address}: nobody there yet ({why}); trying on");
        }
        // The campaign hears the same from its first operation.
        Err(error) => eprintln!("sandglass-nats: {address}: {error}; trying on"),
    }
    let reader = BufReader::with_capacity(BUFFER, std::io::stdin().lock());
    let writer = BufWriter::with_capacity(BUFFER, std::io::stdout().lock());
    match pipe::serve(&mut nats, reader, writer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(3, &format!("the pipe to the campaign: {error}")),
    }
}

fn fail(code: u8, message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(code)
}
