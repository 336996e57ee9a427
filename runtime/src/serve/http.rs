//! One request in, one response out: as little of HTTP as a page on this machine takes.
//!
//! `httparse` (of hyper; no dependencies) reads the head. Small servers that come as crates do not fit:
//! tiny_http 0.12 reads a line of any length, waits for a client for ever and has no limit on connections,
//! and what does bound them brings an asynchronous runtime along. Here a request has one size, one time and
//! no body, and a connection ends with its response.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Bytes of a request: browsers send less than two thousand.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// Headers of a request.
const HEADERS_MAX: usize = 64;

/// Bytes of a path: more than the longest one of ours.
const PATH_BYTES_MAX: usize = 128;

/// A request must have come by then.
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// A response must have gone by then.
const RESPONSE_TIME: Duration = Duration::from_secs(30);

/// What is still coming after a refusal is read for so long, so that the refusal arrives.
const FAREWELL_TIME: Duration = Duration::from_millis(500);

/// The same where others wait to be heard.
const SHORT_FAREWELL_TIME: Duration = Duration::from_millis(50);

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This machine alone.
    Loopback,
    /// Whoever reaches the address.
    Anybody,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Begins with `/`; only letters, digits, `/`, `-`, `_` and `.`; without a query.
    pub path: String,
    /// Whether only the head of the response is wanted.
    pub is_head: bool,
}

/// What a page may do in the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Ours: load style, script and JSON from this server, and nothing that is written in the page itself.
    Dashboard,
    /// A page that needs nothing else, whoever made it: what is in it runs, in an origin of its own that
    /// can ask nobody for anything, us included.
    Alone,
}

/// What is answered.
#[derive(Clone, Debug)]
pub struct Response {
    /// 200 and so on.
    pub status: u16,
    /// The type of the body.
    pub kind: &'static str,
    /// What it may do.
    pub policy: Policy,
    /// Whether it is to be kept as a file, and never shown.
    pub is_download: bool,
    /// All of it.
    pub body: Vec<u8>,
}

const HTML: &str = "text/html; charset=utf-8";

impl Response {
    /// Of that type.
    pub fn of(kind: &'static str, body: impl Into<Vec<u8>>) -> Response {
        Response {
            status: 200,
            kind,
            policy: Policy::Dashboard,
            is_download: false,
            body: body.into(),
        }
    }

    /// A page of ours.
    pub fn html(body: String) -> Response {
        Response::of(HTML, body)
    }

    /// A page that needs nothing else.
    pub fn alone(body: impl Into<Vec<u8>>) -> Response {
        Response {
            policy: Policy::Alone,
            ..Response::of(HTML, body)
        }
    }

    /// A file with an input in it.
    pub fn download(body: Vec<u8>) -> Response {
        Response {
            is_download: true,
            ..Response::of("application/octet-stream", body)
        }
    }

    /// Why there is nothing to see. The text is ours.
    pub fn refusal(status: u16, why: &str) -> Response {
        Response {
            status,
            ..Response::of("text/plain; charset=utf-8", format!("{why}\n"))
        }
    }

    fn head(&self) -> String {
        let policy = match self.policy {
            Policy::Dashboard => {
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"
            }
            Policy::Alone => {
                "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
            }
        };
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\
             Content-Security-Policy: {policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Cache-Control: no-store\r\nConnection: close\r\n",
            self.status,
            reason(self.status),
            self.kind,
            self.body.len(),
        );
        if self.status == 405 {
            head.push_str("Allow: GET, HEAD\r\n");
        }
        if self.is_download {
            head.push_str("Content-Disposition: attachment; filename=\"input\"\r\n");
        }
        head + "\r\n"
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        414 => "URI Too Long",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

/// Answers the one request of a connection. What goes wrong with the connection is its client's loss.
pub fn serve(mut stream: TcpStream, reach: Reach, answer: impl FnOnce(&Request) -> Response) {
    let request = read(&mut stream, reach);
    let (response, is_head) = match &request {
        Ok(request) => (answer(request), request.is_head),
        Err(Some(refusal)) => (refusal.clone(), false),
        Err(None) => return,
    };
    let _ = write(&mut stream, &response, is_head);
    let _ = stream.shutdown(Shutdown::Write);
    if request.is_err() {
        drain(&mut stream, FAREWELL_TIME);
    }
}

/// Refuses without having read anything.
pub fn turn_away(mut stream: TcpStream) {
    let refusal = Response::refusal(503, "too many connections, try again");
    // Fits what a system keeps for a connection: nobody waits.
    let _ = stream.set_write_timeout(Some(SHORT_FAREWELL_TIME));
    let _ = stream.write_all(refusal.head().as_bytes());
    let _ = stream.write_all(&refusal.body);
    let _ = stream.shutdown(Shutdown::Write);
    drain(&mut stream, SHORT_FAREWELL_TIME);
}

/// Reads the request; errs with a refusal, or with nothing when nobody is there any more.
fn read(stream: &mut TcpStream, reach: Reach) -> Result<Request, Option<Response>> {
    let end = Instant::now() + REQUEST_TIME;
    let mut head = Vec::with_capacity(HEAD_BYTES_MAX);
    let mut part = [0; 2_048];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Err(Some(Response::refusal(408, "the request took too long")));
        }
        match stream.read(&mut part) {
            Ok(0) => return Err(None),
            Ok(count) => head.extend_from_slice(&part[..count]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            // Too late, or gone: the first is told at the next turn, and who is gone is not.
            Err(_) if Instant::now() >= end => {}
            Err(_) => return Err(None),
        }
        if head.len() > HEAD_BYTES_MAX {
            return Err(Some(Response::refusal(431, "the request is too large")));
        }
        if let Some(request) = parse(&head, reach).map_err(Some)? {
            return Ok(request);
        }
    }
}

/// The request, once its head is whole.
fn parse(head: &[u8], reach: Reach) -> Result<Option<Request>, Response> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Response::refusal(431, "too many headers"));
        }
        Err(_) => return Err(Response::refusal(400, "this is no HTTP/1.1")),
    }
    let is_head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(Response::refusal(405, "expected GET or HEAD")),
    };
    check_host(request.headers, reach)?;
    let has_body = request.headers.iter().any(|header| {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        is("Transfer-Encoding") || is("Content-Length") && header.value != b"0"
    });
    if has_body {
        return Err(Response::refusal(413, "expected a request without a body"));
    }
    let target = request.path.unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    if target.len() > PATH_BYTES_MAX {
        return Err(Response::refusal(414, "the address is too long"));
    }
    let is_ours = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    if !path.starts_with('/') || !path.bytes().all(is_ours) {
        return Err(Response::refusal(404, "no such page"));
    }
    Ok(Some(Request {
        path: path.to_owned(),
        is_head,
    }))
}

/// A page elsewhere can have its own name lead here and then ask as if it were ours (DNS rebinding). Its
/// requests say that name: only `localhost` and plain addresses are answered.
fn check_host(headers: &[httparse::Header<'_>], reach: Reach) -> Result<(), Response> {
    let mut hosts = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("Host"));
    let host = hosts.next().filter(|_| hosts.next().is_none());
    let Some(host) = host.and_then(|host| str::from_utf8(host.value).ok()) else {
        return Err(Response::refusal(400, "expected one Host header"));
    };
    if is_ours(host, reach) {
        return Ok(());
    }
    Err(Response::refusal(
        421,
        "expected this server's address in the Host header, not a name: open it as http://ADDRESS:PORT/",
    ))
}

fn is_ours(host: &str, reach: Reach) -> bool {
    let without_port = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    if without_port.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let address = without_port
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(without_port);
    let address: Option<IpAddr> = address.parse().ok();
    address.is_some_and(|address| reach == Reach::Anybody || address.is_loopback())
}

/// Writes the response, part by part, until its time is over.
fn write(stream: &mut TcpStream, response: &Response, is_head: bool) -> std::io::Result<()> {
    let end = Instant::now() + RESPONSE_TIME;
    let mut bytes = response.head().into_bytes();
    if !is_head {
        bytes.extend_from_slice(&response.body);
    }
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(rest) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = &rest[count..],
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Reads on for a moment: what is closed with something unread is reset, and the client may never see
/// what we said.
fn drain(stream: &mut TcpStream, time: Duration) {
    let end = Instant::now() + time;
    let mut part = [0; 4_096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return;
        }
        if !matches!(stream.read(&mut part), Ok(count) if count > 0) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<Option<Request>, u16> {
        parse(text.as_bytes(), Reach::Loopback).map_err(|refusal| refusal.status)
    }

    fn get(path: &str) -> Result<Option<Request>, u16> {
        asked(&format!("GET {path} HTTP/1.1\r\nHost: localhost:1\r\n\r\n"))
    }

    #[test]
    fn paths_are_plain() {
        let found = get("/0/finding/00ff?x=<script>").unwrap().unwrap();
        assert_eq!((&found.path[..], found.is_head), ("/0/finding/00ff", false));
        for path in ["/%2e%2e/", "/<b>", "/a\\b", "http://localhost/", "*", "x"] {
            assert_eq!(get(path), Err(404), "{path}");
        }
        assert_eq!(get(&"/a".repeat(100)), Err(414));
        assert_eq!(get(&format!("/?{}", "a".repeat(200))), Err(414));
    }

    #[test]
    fn only_looking_is_allowed() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get"] {
            let text = format!("{method} / HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assert_eq!(asked(&text), Err(405), "{method}");
        }
        for header in ["Content-Length: 5", "transfer-encoding: chunked"] {
            let text = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n");
            assert_eq!(asked(&text), Err(413), "{header}");
        }
        assert_eq!(asked("GET / HTTP/1.1\r\nHost: localhost\r\n"), Ok(None));
        assert_eq!(asked("\u{16}\u{3}\u{1}\r\n\r\n"), Err(400), "TLS");
        let many = "X: y\r\n".repeat(HEADERS_MAX);
        let text = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{many}\r\n");
        assert_eq!(asked(&text), Err(431));
        for hosts in ["", "Host: localhost\r\nHost: localhost\r\n"] {
            let text = format!("GET / HTTP/1.1\r\n{hosts}\r\n");
            assert_eq!(asked(&text), Err(400), "{hosts:?}");
        }
    }

    #[test]
    fn names_of_others_are_not_ours() {
        let both = [
            "localhost",
            "LocalHost:80",
            "127.0.0.1:40000",
            "127.9.9.9",
            "[::1]:7",
            "[::1]",
        ];
        for host in both {
            assert!(is_ours(host, Reach::Loopback), "{host}");
            assert!(is_ours(host, Reach::Anybody), "{host}");
        }
        for host in ["192.168.1.7:80", "[fe80::1]:7"] {
            assert!(!is_ours(host, Reach::Loopback), "{host}");
            assert!(is_ours(host, Reach::Anybody), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:80",
            "127.0.0.1.evil.example",
            "localhost.evil.example:80",
            "localhost:80:80",
            "",
            ":80",
            "user@localhost",
            "127.0.0.1:port",
        ] {
            assert!(!is_ours(host, Reach::Loopback), "{host}");
            assert!(!is_ours(host, Reach::Anybody), "{host}");
        }
    }

    #[test]
    fn every_response_says_what_it_may_do() {
        let all = [
            Response::html(String::new()),
            Response::alone(""),
            Response::download(Vec::new()),
            Response::refusal(404, "no"),
        ];
        for response in all {
            let head = response.head();
            for part in ["default-src 'none'", "nosniff", "frame-ancestors 'none'"] {
                assert!(head.contains(part), "{part} is missing in {head}");
            }
            let is_inline = head.contains("unsafe-inline");
            assert_eq!(is_inline, head.contains("sandbox allow-scripts;"), "{head}");
            assert_eq!(head.matches("\r\n\r\n").count(), 1, "{head}");
        }
    }
}
