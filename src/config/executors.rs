//! The executors of a server: tables `[executors.NAME]` of the settings file, because each is more than one value.
//! A secret is never printed. May import: nothing of this crate.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use reqwest::Url;
use serde::Deserialize;

use super::acp::AcpTable;
use super::{Acp, Error, is_public};

/// Characters of an executor's name, at most.
const NAME_CHARS_MAX: usize = 64;
/// Bytes of a secret's key, at least; the signature's specification asks for as many.
const SECRET_BYTES_MIN: usize = 24;

/// Text that is never shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Whether one dispatch may be posted again under its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Redelivery {
    /// One POST, whatever comes of it.
    #[default]
    Never,
    /// The receiver takes each id once: what is unknown is posted again until it says so, within the responder's
    /// deadline and never after a restart (decisions 9).
    Idempotent,
}

/// A platform that is called by signed HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Where a dispatch is posted; has neither user nor fragment.
    pub url: Url,
    /// Keys of the signature, `whsec_…`; several while one replaces another.
    pub secrets: Vec<Secret>,
    /// `DELETE url/ID` takes an unacknowledged dispatch back, for good.
    pub can_revoke: bool,
    /// A POST of the type `turn.interrupted` tells that a turn was cancelled or superseded.
    pub can_interrupt: bool,
    /// Whether a dispatch may be posted again.
    pub redelivery: Redelivery,
    /// The endpoint may be plain HTTP, and have a loopback, private or otherwise not public address.
    pub allow_private: bool,
}

/// How an agent that nobody waits for is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executor {
    /// It is called by HTTP.
    Webhook(Webhook),
    /// It is a process of this machine.
    Acp(Acp),
    /// Its workers come and claim.
    Pull,
}

/// One table of the file.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Table {
    /// As [`Webhook`]; the secret stands here or in a file of its own.
    Webhook {
        url: String,
        secret: Option<Secret>,
        secret_file: Option<PathBuf>,
        #[serde(default)]
        can_revoke: bool,
        #[serde(default)]
        can_interrupt: bool,
        #[serde(default)]
        redelivery: Redelivery,
        #[serde(default)]
        allow_private: bool,
    },
    /// As [`Acp`].
    Acp(AcpTable),
    /// The name is all there is to say of it.
    Pull {},
}

/// Reads the tables.
///
/// # Errors
/// Names the executor and the key, never a value that may be secret.
pub(super) fn load(tables: BTreeMap<String, Table>) -> Result<BTreeMap<String, Executor>, Error> {
    tables.into_iter().map(|(name, table)| Ok((name.clone(), check(&name, table)?))).collect()
}

fn check(name: &str, table: Table) -> Result<Executor, Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(is_plain) {
        return Err(wrong(name, "name", "must be 1 to 64 of the characters a-z, A-Z, 0-9, - and _"));
    }
    match table {
        Table::Webhook { url, secret, secret_file, can_revoke, can_interrupt, redelivery, allow_private } => {
            let url = endpoint(name, &url, allow_private)?;
            let secrets = secrets(name, secret, secret_file)?;
            Ok(Executor::Webhook(Webhook { url, secrets, can_revoke, can_interrupt, redelivery, allow_private }))
        }
        Table::Acp(table) => table.check().map(Executor::Acp).map_err(|(key, message)| wrong(name, key, message)),
        Table::Pull {} => Ok(Executor::Pull),
    }
}

fn wrong(name: &str, key: &'static str, message: &'static str) -> Error {
    Error::Executor { name: name.to_owned(), key, message }
}

fn endpoint(name: &str, text: &str, allow_private: bool) -> Result<Url, Error> {
    let fault = |message| Err(wrong(name, "url", message));
    let Ok(url) = Url::parse(text) else { return fault("must be an absolute URL") };
    let is_plain = url.scheme() == "http";
    if !(is_plain || url.scheme() == "https") || !url.has_host() {
        return fault("must be https://…");
    }
    if is_plain && !allow_private {
        return fault("must be https://…; plain http needs allow_private");
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return fault("must have no user, password and fragment");
    }
    // A name is looked at when it is resolved; an address is not resolved at all.
    let literal = url.host_str().and_then(|host| host.trim_matches(['[', ']']).parse::<IpAddr>().ok());
    if literal.is_some_and(|address| !is_public(address)) && !allow_private {
        return fault("has an address that is not public; that needs allow_private");
    }
    Ok(url)
}

fn secrets(name: &str, inline: Option<Secret>, file: Option<PathBuf>) -> Result<Vec<Secret>, Error> {
    let text = match (inline, file) {
        (Some(secret), None) => secret,
        (None, Some(path)) => Secret(std::fs::read_to_string(&path).map_err(|error| Error::Read(path, error))?),
        _ => return Err(wrong(name, "secret", "must be given, either here or by secret_file")),
    };
    let all: Vec<_> = text.expose().split_whitespace().map(Secret::from).collect();
    let is_key = |secret: &Secret| {
        let least = SECRET_BYTES_MIN.div_ceil(3).saturating_mul(4);
        let digits = secret.expose().strip_prefix("whsec_").unwrap_or_default();
        digits.len() >= least && standardwebhooks::Webhook::new(secret.expose()).is_ok()
    };
    if all.is_empty() || !all.iter().all(is_key) {
        let message = "must be whsec_ and at least 24 bytes in base64; several are separated by spaces";
        return Err(wrong(name, "secret", message));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn load_text(text: &str) -> Result<BTreeMap<String, Executor>, String> {
        let tables = toml::from_str(text).map_err(|error: toml::de::Error| error.to_string())?;
        load(tables).map_err(|error| error.to_string())
    }

    fn webhook(url: &str, rest: &str) -> Result<BTreeMap<String, Executor>, String> {
        load_text(&format!("[platform]\nkind = 'webhook'\nurl = '{url}'\nsecret = '{KEY}'\n{rest}"))
    }

    #[test]
    fn an_endpoint_is_refused_unless_it_is_public_https_or_private_ones_are_allowed() {
        assert!(webhook("https://agents.example.org/hook", "").is_ok());
        for url in [
            "http://agents.example.org/hook",
            "https://127.0.0.1/hook",
            "https://[::1]/hook",
            "https://10.0.0.8:8443/hook",
            "https://[::ffff:192.168.0.1]/hook",
            "https://2130706433/hook",
            "https://169.254.169.254/latest",
        ] {
            let error = webhook(url, "").unwrap_err();
            assert!(error.contains("executors.platform.url") && error.contains("allow_private"), "{url}: {error}");
            assert!(webhook(url, "allow_private = true").is_ok(), "{url}");
        }
        for url in ["/hook", "ftp://example.org", "https://me:you@example.org/", "https://example.org/#here"] {
            assert!(webhook(url, "allow_private = true").is_err(), "{url}");
        }
    }

    #[test]
    fn a_secret_is_named_when_it_is_wrong_and_never_shown() {
        for secret in ["whsec_short", "whsec_not*base64*not*base64*not*base64*", "hunter2", ""] {
            let text = format!("[p]\nkind = 'webhook'\nurl = 'https://example.org/'\nsecret = '{secret}'");
            let error = load_text(&text).unwrap_err();
            assert!(error.contains("executors.p.secret"), "{error}");
            assert!(secret.is_empty() || !error.contains(secret), "{error}");
        }
        let shown = format!("{:?}", webhook("https://example.org/", "").unwrap());
        assert!(!shown.contains("MfKQ9r8"), "{shown}");
    }

    #[test]
    fn several_secrets_may_stand_in_a_file_of_their_own() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{KEY} {KEY}\n")).unwrap();
        let text = |extra: &str| {
            let path = file.path().display();
            format!("[p]\nkind = 'webhook'\nurl = 'https://example.org/'\nsecret_file = '{path}'\n{extra}")
        };
        let Some(Executor::Webhook(read)) = load_text(&text("")).unwrap().remove("p") else { panic!() };
        assert_eq!(read.secrets.len(), 2);
        assert!(load_text(&text(&format!("secret = '{KEY}'"))).is_err());
    }

    #[test]
    fn an_unknown_kind_key_or_name_is_refused() {
        let whole = format!("kind = 'webhook'\nurl = 'https://example.org/'\nsecret = '{KEY}'");
        assert!(load_text(&format!("[w]\n{whole}")).is_ok());
        assert!(load_text("[workers]\nkind = 'pull'").is_ok());
        assert!(load_text("[workers]\nkind = 'pull'\nurl = 'https://example.org/'").is_err());
        let unknown_kind = whole.replace("webhook", "push");
        for text in
            [format!("['a b']\n{whole}"), format!("[w]\n{whole}\ncolour = 'red'"), format!("[w]\n{unknown_kind}")]
        {
            assert!(load_text(&text).is_err(), "{text}");
        }
    }
}
