//! A first look at text before any parser recurses over it: how many tokens, how deeply nested. Knows strings and
//! comments of GraphQL and JSON, and nothing else of either. May import: nothing.

/// What a text is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Names, numbers, strings and punctuators.
    pub(super) tokens: usize,
    /// The deepest nesting of brackets of any kind.
    pub(super) nesting: usize,
}

/// Measures a document.
pub(super) fn shape(text: &str) -> Shape {
    let mut rest = text.as_bytes();
    let (mut shape, mut depth) = (Shape::default(), 0_usize);
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'#' => {
                rest = skip_line(after);
                continue;
            }
            b' ' | b'\t' | b'\r' | b'\n' | b',' => {
                rest = after;
                continue;
            }
            b'{' | b'[' | b'(' => {
                depth = depth.saturating_add(1);
                shape.nesting = shape.nesting.max(depth);
                rest = after;
            }
            b'}' | b']' | b')' => {
                depth = depth.saturating_sub(1);
                rest = after;
            }
            b'"' => rest = skip_string(after),
            _ if is_word(byte) => rest = skip_while(after, is_word),
            _ => rest = after,
        }
        shape.tokens = shape.tokens.saturating_add(1);
    }
    shape
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn skip_while(text: &[u8], is_in: impl Fn(u8) -> bool) -> &[u8] {
    let end = text.iter().position(|byte| !is_in(*byte)).unwrap_or(text.len());
    text.get(end..).unwrap_or_default()
}

fn skip_line(text: &[u8]) -> &[u8] {
    skip_while(text, |byte| byte != b'\n' && byte != b'\r')
}

/// Behind the end of a string whose opening quote was passed.
fn skip_string(text: &[u8]) -> &[u8] {
    if let Some(block) = text.strip_prefix(b"\"\"") {
        return skip_block(block);
    }
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b'"' | b'\n' => return after,
            b'\\' => after.get(1..).unwrap_or_default(),
            _ => after,
        };
    }
    rest
}

fn skip_block(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(b"\\\"\"\"") {
            rest = after;
        } else if let Some(after) = rest.strip_prefix(b"\"\"\"") {
            return after;
        } else {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_as_the_language_sees_them() {
        let cases = [
            ("", 0, 0),
            ("{ a }", 3, 1),
            ("{ a(b: \"} } }\") }", 8, 2),
            ("{ a(b: \"\"\"} \\\"\"\" }\"\"\") } # } } }", 8, 2),
            ("query Q($x: [Int!]! = 12) { a }", 17, 2),
            ("{a(b:[[[1]]])}", 14, 5),
        ];
        for (text, tokens, nesting) in cases {
            assert_eq!(shape(text), Shape { tokens, nesting }, "{text}");
        }
    }

    #[test]
    fn a_text_that_never_ends_a_string_is_passed_once() {
        for text in ["\"", "\"\"\"", "\"\\", "\"\"\"\\", "\"abc\\\""] {
            assert_eq!(shape(text).tokens, 1, "{text}");
        }
    }
}
