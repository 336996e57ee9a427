//! Words of the commands that we print, so that a shell takes them back as what they are.
//!
//! In: a word or a path, of any bytes. Out: printable text. What has no other form than its bytes is written
//! `$'…\NNN…'`, which POSIX has since 2024; bash, zsh, ksh, busybox and the shells of macOS and the BSDs know it, dash does not yet.

use std::fmt::Write as _;
use std::path::Path;

use crate::error::printable;

/// Quotes a word for a shell, if it needs it.
pub(crate) fn quote(word: &str) -> String {
    quote_bytes(word.as_bytes())
}

/// The same for a script, which no terminal shows: any shell knows what stands there.
pub(crate) fn quote_in_script(word: &str) -> String {
    match is_plain(word) {
        true => word.to_owned(),
        false => single(word),
    }
}

/// [`quote`] for a path, also one that is not UTF-8.
pub(crate) fn quote_path(path: &Path) -> String {
    quote_bytes(path.as_os_str().as_encoded_bytes())
}

fn quote_bytes(word: &[u8]) -> String {
    match str::from_utf8(word) {
        Ok(text) if is_plain(text) => text.to_owned(),
        Ok(text) if is_printable(text) => single(text),
        _ => escaped(word),
    }
}

fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    !text.is_empty() && text.chars().all(is_plain)
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Whether it stands in a line as it is.
fn is_printable(text: &str) -> bool {
    printable(text) == text
}

/// Letters stay; what is no text, or would act on a terminal, is written by its bytes.
fn escaped(word: &[u8]) -> String {
    let mut out = String::from("$'");
    let octal = |out: &mut String, bytes: &[u8]| {
        for byte in bytes {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "\\{byte:03o}");
        }
    };
    for chunk in word.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut bytes = [0; 4];
            let text = c.encode_utf8(&mut bytes);
            match c {
                '\\' | '\'' => out.extend(['\\', c]),
                _ if is_printable(text) => out.push(c),
                _ => octal(&mut out, text.as_bytes()),
            }
        }
        octal(&mut out, chunk.invalid());
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_if_they_must_be() {
        assert_eq!(quote("a/b.wasm"), "a/b.wasm");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote("größe"), "'größe'");
        assert_eq!(quote("a\nb'\\\u{202e}"), r"$'a\012b\'\\\342\200\256'");
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_takes_every_byte_back() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let names: Vec<Vec<u8>> = vec![
            (1..=255).collect(),
            b"\xff\xfe".to_vec(),
            b"1\x0723".to_vec(),
            "é\u{1b}[31m\u{e9}".as_bytes().to_vec(),
            b"- ~$HOME `x` \"y\" 'z' \\".to_vec(),
        ];
        for name in names {
            let quoted = quote_path(Path::new(OsStr::from_bytes(&name)));
            assert!(is_printable(&quoted), "{quoted}");
            let said = std::process::Command::new("bash")
                .args(["-c", &format!("printf %s {quoted}")])
                .env("LC_ALL", "C.UTF-8")
                .output()
                .unwrap();
            assert_eq!(said.stdout, name, "{quoted}");
        }
    }
}
