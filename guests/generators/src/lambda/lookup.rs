//! Requests over HTTP for values by their key, and the tables of values and of users.

use sandglass_sdk::{one_of, span, structure, value};

use super::{Cloud, json, text};

const HEADERS: &[&str] = &[
    "accept",
    "authorization",
    "content-type",
    "if-modified-since",
    "if-none-match",
];

/// For the handler that gets and puts values.
pub fn lookup() -> Vec<u8> {
    let mut cloud = Cloud {
        event: request(),
        ..Cloud::default()
    };
    for key in ["k1", "k2"] {
        if structure!().chance(3, 4) {
            cloud.item("values", key, &["value", "etag"]);
            if structure!().boolean() {
                let (_, _, attributes) = cloud.items.last_mut().expect("it has just been added");
                attributes.push(("changed".to_owned(), date()));
            }
        }
    }
    if structure!().chance(3, 4) {
        let password = value!().word(&["p0", "p1"]).to_owned();
        cloud.items.push((
            "users".to_owned(),
            "u1".to_owned(),
            vec![("password".to_owned(), password)],
        ));
    }
    cloud.into_bytes()
}

fn request() -> String {
    let _span = span!("ApiGatewayProxyRequest");
    let methods = ["GET", "PUT", "DELETE", "HEAD", "POST", "PATCH"];
    let method = methods[structure!().weighted(&[4, 4, 2, 1, 1, 1])];
    let path = one_of!(structure!(); 6 => format!("/values/k{}", value!().int(1..=3)), 1 => text(), 1 => "/".to_owned());
    let headers = pairs(
        || structure!().word(HEADERS).to_owned(), // Of a request, names are known.
        header,
    );
    let query = {
        let _span = span!("QueryMap");
        pairs(text, |_| text())
    };
    let (is_encoded, body) = body();
    format!(
        "{{\"resource\":\"/values\",\"path\":{},\"httpMethod\":{},\"headers\":{headers},\"multiValueHeaders\":{{}},\"queryStringParameters\":{query},\
         \"multiValueQueryStringParameters\":{{}},\"pathParameters\":{{}},\"stageVariables\":{{}},\"requestContext\":{{\"httpMethod\":{}}},\
         \"body\":{body},\"isBase64Encoded\":{is_encoded}}}",
        json(&path),
        json(method),
        json(method)
    )
}

fn pairs(name: impl Fn() -> String, of: impl Fn(&str) -> String) -> String {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for _ in structure!().repeat_while(0..=5, 2, 3) {
        let name = name();
        // JSON of a map: a name comes once.
        if pairs.iter().all(|(other, _)| *other != name) {
            pairs.push((name.clone(), of(&name)));
        }
    }
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{}:{}", json(name), json(value)))
        .collect();
    format!("{{{}}}", pairs.join(","))
}

fn header(name: &str) -> String {
    match name {
        "if-modified-since" => date(),
        "authorization" => {
            let _span = span!("Credentials");
            let scheme = one_of!(structure!(); 3 => "Basic ".to_owned(), 1 => text());
            let user = one_of!(value!(); 3 => "u1".to_owned(), 1 => text());
            let password =
                one_of!(value!(); 3 => value!().word(&["p0", "p1"]).to_owned(), 1 => text());
            scheme + &base64(format!("{user}:{password}").as_bytes())
        }
        _ => text(),
    }
}

fn date() -> String {
    let _span = span!("SystemTime");
    if structure!().chance(1, 8) {
        return text();
    }
    let day = value!().word(&["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]);
    let month = value!().word(&[
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]);
    let (date, year) = (value!().int(0..=31), value!().int(1970..=2030));
    let [hour, minute, second] = [
        value!().int(0..=24),
        value!().int(0..=60),
        value!().int(0..=60),
    ];
    format!("{day}, {date:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Whether it is encoded, and the body as JSON.
fn body() -> (bool, String) {
    if structure!().chance(1, 5) {
        return (false, "null".to_owned());
    }
    let plain = one_of!(structure!(); text(), pairs(text, |_| text()));
    match structure!().boolean() {
        true => (true, json(&base64(plain.as_bytes()))),
        false => (value!().chance(1, 8), json(&plain)),
    }
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word = three.iter().enumerate().fold(0_u32, |word, (at, byte)| {
            word | u32::from(*byte) << (16 - 8 * at)
        });
        for digit in 0..4 {
            let is_there = digit <= three.len();
            let of = DIGITS[(word >> (18 - 6 * digit)) as usize & 63];
            text.push(if is_there { char::from(of) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_in_its_standard() {
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }
}
