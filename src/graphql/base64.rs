//! Base64 for URLs, without padding (RFC 4648 section 5), and the standard alphabet that headers use. May import: nothing.

const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Text of the URL alphabet.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().saturating_mul(4).div_ceil(3));
    for chunk in bytes.chunks(3) {
        let byte = |n: usize| u32::from(chunk.get(n).copied().unwrap_or(0));
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for n in 0..=chunk.len() {
            let shift = 18_usize.saturating_sub(n.saturating_mul(6));
            let index = usize::try_from((bits >> shift) & 63).unwrap_or(0);
            text.push(char::from(URL.get(index).copied().unwrap_or(b'A')));
        }
    }
    text
}

/// Bytes of text in the URL alphabet; none where it is no such text.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for n in 0..4 {
            let value = match chunk.get(n) {
                Some(byte) => URL.iter().position(|known| known == byte)?,
                None => 0,
            };
            bits = (bits << 6) | u32::try_from(value).ok()?;
        }
        let [_, first, second, third] = bits.to_be_bytes();
        bytes.extend([first, second, third].into_iter().take(chunk.len().checked_sub(1)?));
        if chunk.len() == 1 {
            return None;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn any_text_is_decoded_or_refused(text in ".{0,40}") {
            let _ = decode(&text);
        }
    }

    #[test]
    fn the_known_vectors_hold() {
        for (plain, text) in [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(decode("A"), None);
        assert_eq!(decode("Zg=="), None);
    }
}
