//! Trusted documents: a request may name one by the SHA-256 of its text instead of sending it; in strict mode no
//! other document is executed. The list is a file of the deployment and the documents of its own page; nothing that a
//! client sends adds to it.
//! May import: nothing of this crate outside this room.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use async_graphql::ServerError;
use sha2::{Digest, Sha256};

use super::fault::{Code, server_error};
use super::prepare::Incoming;

/// What may stand before a hash, as the draft of GraphQL over HTTP has it.
const PREFIX: &str = "sha256:";

/// The documents that a deployment trusts. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    by_hash: Arc<HashMap<String, String>>,
    is_strict: bool,
}

/// A list of documents cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Untrusted {
    /// It is no object of texts.
    #[error("must be one JSON object of documents by their SHA-256 in hex: {0}")]
    Json(#[from] serde_json::Error),
    /// A name is not the hash of its document.
    #[error("{name:?} is not the SHA-256 of its document, which is {hash}")]
    Hash {
        /// As it stands there.
        name: String,
        /// As it must be.
        hash: String,
    },
}

impl Documents {
    /// Reads a list: `{"<SHA-256 in hex>": "<document>"}`. `is_strict`: nothing else is executed.
    ///
    /// # Errors
    /// It is no such list.
    pub fn read(text: &str, is_strict: bool) -> Result<Self, Untrusted> {
        let listed: BTreeMap<String, String> = serde_json::from_str(text)?;
        let mut by_hash = HashMap::with_capacity(listed.len());
        for (name, document) in listed {
            let hash = hash(&document);
            if bare(&name) != hash {
                return Err(Untrusted::Hash { name, hash });
            }
            by_hash.insert(hash, document);
        }
        Ok(Self { by_hash: Arc::new(by_hash), is_strict })
    }

    /// Trusts these too.
    #[must_use]
    pub fn and(mut self, more: impl IntoIterator<Item = String>) -> Self {
        let more = more.into_iter().map(|document| (hash(&document), document));
        Arc::make_mut(&mut self.by_hash).extend(more);
        self
    }

    /// Gives a request that names its document the text, and keeps out what is not trusted.
    ///
    /// # Errors
    /// No document has that name; it is the name of another one; it is not trusted where only such are.
    pub fn admit(&self, mut incoming: Incoming) -> Result<Incoming, ServerError> {
        let Some(id) = incoming.document_id.as_deref().map(bare) else {
            let is_admitted = !self.is_strict || self.by_hash.contains_key(&hash(&incoming.query));
            return if is_admitted { Ok(incoming) } else { Err(untrusted()) };
        };
        match self.by_hash.get(id) {
            Some(document) if incoming.query.is_empty() || incoming.query == *document => {
                incoming.query.clone_from(document);
                Ok(incoming)
            }
            None if incoming.query.is_empty() => {
                // Clients of persisted queries know these words, and send the document next.
                Err(server_error(Code::DocumentUnknown, "PersistedQueryNotFound"))
            }
            None if self.is_strict => Err(untrusted()),
            None if hash(&incoming.query) == id => Ok(incoming),
            _ => Err(server_error(Code::BadRequest, "the document is not the one that its SHA-256 names")),
        }
    }
}

fn untrusted() -> ServerError {
    server_error(Code::DocumentUntrusted, "only trusted documents are executed here")
}

fn bare(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

fn hash(document: &str) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(document.as_bytes()) {
        let _never_fails = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::fault::has_code;
    use super::*;

    const KNOWN: &str = "{ viewer { role } }";
    const OTHER: &str = "{ viewer { principal } }";

    fn documents(is_strict: bool) -> Documents {
        let list = serde_json::json!({ hash(KNOWN): KNOWN });
        Documents::read(&list.to_string(), is_strict).unwrap()
    }

    fn incoming(query: &str, id: Option<String>) -> Incoming {
        Incoming { query: query.into(), document_id: id, ..Incoming::default() }
    }

    #[test]
    fn a_document_is_found_by_its_hash_and_by_no_other() {
        let own = documents(false);
        for id in [hash(KNOWN), format!("{PREFIX}{}", hash(KNOWN))] {
            assert_eq!(own.admit(incoming("", Some(id.clone()))).unwrap().query, KNOWN);
            assert_eq!(own.admit(incoming(KNOWN, Some(id.clone()))).unwrap().query, KNOWN);
            let error = own.admit(incoming(OTHER, Some(id))).unwrap_err();
            assert!(has_code(&error, &[Code::BadRequest]));
        }
        let error = own.admit(incoming("", Some(hash(OTHER)))).unwrap_err();
        assert!(has_code(&error, &[Code::DocumentUnknown]));
        assert_eq!(own.admit(incoming(OTHER, Some(hash(OTHER)))).unwrap().query, OTHER);
    }

    #[test]
    fn strict_mode_executes_what_is_listed_however_it_is_sent_and_nothing_else() {
        let strict = documents(true);
        assert!(strict.admit(incoming(KNOWN, None)).is_ok());
        assert!(strict.admit(incoming("", Some(hash(KNOWN)))).is_ok());
        for refused in [incoming(OTHER, None), incoming(OTHER, Some(hash(OTHER))), incoming("", None)] {
            let error = strict.admit(refused).unwrap_err();
            assert!(has_code(&error, &[Code::DocumentUntrusted]));
        }
        // What was refused is not remembered.
        assert!(strict.admit(incoming("", Some(hash(OTHER)))).is_err());
    }

    #[test]
    fn a_list_with_a_wrong_hash_is_refused_by_its_name() {
        let error = Documents::read(r#"{"abc": "{ viewer { role } }"}"#, true).unwrap_err().to_string();
        assert!(error.starts_with("\"abc\" is not the SHA-256"), "{error}");
        assert!(Documents::read("[]", true).is_err());
    }
}
