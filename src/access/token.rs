//! Bearer tokens: shown once, kept as a hash. May import: ports.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::ports;

/// What every token begins with, so that one that leaked is recognised.
pub const TOKEN_PREFIX: &str = "ans_";

/// A fresh token of 256 random bits as text, and the hash by which the store knows it.
///
/// # Panics
/// The system gives no randomness; a token without it could be guessed.
pub fn new_token() -> (String, [u8; 32]) {
    let mut text = String::from(TOKEN_PREFIX);
    for byte in ports::entropy() {
        let _never_fails = write!(text, "{byte:02x}");
    }
    let hash = hash_token(&text);
    (text, hash)
}

/// SHA-256 of a token's text. The text has 256 random bits, so it needs neither salt nor a slow hash; and a look-up by
/// the hash tells by its time nothing that leads to the text.
pub fn hash_token(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_are_known_by_their_hash() {
        let (one, hash) = new_token();
        let (other, other_hash) = new_token();
        assert_ne!(one, other);
        assert_eq!(hash_token(&one), hash);
        assert_ne!(hash, other_hash);
    }

    #[test]
    fn a_token_carries_its_prefix_and_256_bits() {
        let (text, _) = new_token();
        let digits = text.strip_prefix(TOKEN_PREFIX).unwrap();
        assert_eq!(digits.len(), 64);
        assert!(digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }

    #[test]
    fn the_hash_is_sha_256_so_that_stored_tokens_stay_valid() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let hex: String = hash_token("abc").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, known);
    }
}
