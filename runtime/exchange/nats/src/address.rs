//! Which campaign at which server: `nats://[USER:PASSWORD@]HOST[:PORT]/CAMPAIGN`.
//!
//! In: what a person typed. Out: a server that async-nats can connect to and a campaign's name that can
//! be part of subjects, or one message. What it prints never holds a password.

use std::fmt;

use async_nats::ServerAddr;
use percent_encoding::percent_decode_str;

/// Characters of a campaign's name.
const NAME_MOST: usize = 64;

/// Where a campaign lies.
#[derive(Clone)]
pub struct Address {
    pub(crate) server: ServerAddr,
    pub(crate) campaign: String,
}

/// Why a text is no address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}, expected nats://HOST:PORT/CAMPAIGN, as in nats://127.0.0.1:4222/png")]
pub struct Wrong {
    what: String,
}

impl Address {
    /// Reads an address; `tls://` in place of `nats://` demands encryption.
    pub fn parse(text: &str) -> Result<Address, Wrong> {
        let wrong = |what: String| Wrong { what };
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| wrong("no scheme in the address".into()))?;
        if scheme != "nats" && scheme != "tls" {
            return Err(wrong(format!("scheme `{}`", scheme.escape_debug())));
        }
        let (server, campaign) = rest
            .split_once('/')
            .ok_or_else(|| wrong("no campaign in the address".into()))?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if campaign.is_empty() || campaign.len() > NAME_MOST || !campaign.chars().all(plain) {
            let shown: String = campaign.chars().take(NAME_MOST).collect();
            let shown = shown.escape_debug();
            return Err(wrong(format!(
                "campaign `{shown}` is not 1 to {NAME_MOST} letters, digits, - and _"
            )));
        }
        let server: ServerAddr = format!("{scheme}://{server}")
            .parse()
            .map_err(|_| wrong("host and port cannot be read".into()))?;
        if server.host().is_empty() {
            return Err(wrong("no host in the address".into()));
        }
        Ok(Address {
            server,
            campaign: campaign.to_owned(),
        })
    }

    /// Name and password, if the address has any.
    pub(crate) fn login(&self) -> Option<(String, String)> {
        let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let name = self.server.username()?;
        Some((
            plain(name),
            plain(self.server.password().unwrap_or_default()),
        ))
    }

    /// Host and port.
    pub fn server(&self) -> String {
        format!("{}:{}", self.server.host(), self.server.port())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "campaign `{}` at {}", self.campaign, self.server())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_its_password_is_not_shown() {
        let address = Address::parse("nats://me:sec%3Aret@host/png-1")
            .ok()
            .unwrap();
        assert_eq!(address.to_string(), "campaign `png-1` at host:4222");
        let login = Some(("me".into(), "sec:ret".into()));
        assert_eq!(address.login(), login);
        let address = Address::parse("nats://host/png").ok().unwrap();
        assert_eq!(address.login(), None);
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_secrets() {
        let wrong = [
            "host:4222/png",
            "http://host/png",
            "nats://host",
            "nats://host/",
            "nats://host/a.b",
            "nats://host/a b",
            "nats://host/a/b",
            "nats://host/*",
            "nats:///png",
            "nats://host:port/png",
            "nats://me:secret@:x/png",
        ];
        for text in wrong {
            let error = Address::parse(text)
                .err()
                .unwrap_or_else(|| panic!("{text}"));
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
