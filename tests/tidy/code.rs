//! Rust text without what is no code. Blanked parts keep their lines and bytes, so places stay what they were.
//! May import: nothing.

/// Blanks comments, strings and characters.
pub fn without_prose(text: &str) -> String {
    let mut rest = text;
    let mut code = String::with_capacity(text.len());
    while let Some(first) = rest.chars().next() {
        let length = prose_length(rest, &code);
        let (part, after) = rest.split_at(if length == 0 { first.len_utf8() } else { length });
        if length == 0 {
            code.push_str(part)
        } else {
            blank(part, &mut code)
        }
        rest = after;
    }
    code
}

fn blank(part: &str, into: &mut String) {
    let keep = |byte| if byte == b'\n' { '\n' } else { ' ' };
    into.extend(part.bytes().map(keep));
}

/// How many bytes of prose stand at the start of `rest`; `before` is the code up to there.
fn prose_length(rest: &str, before: &str) -> usize {
    let is_in_word = before.ends_with(is_word);
    if rest.starts_with("//") {
        rest.find('\n').unwrap_or(rest.len())
    } else if rest.starts_with("/*") {
        block_comment_length(rest)
    } else if rest.starts_with('"') {
        quoted_length(rest)
    } else if rest.starts_with('\'') {
        character_length(rest)
    } else if is_in_word {
        0
    } else {
        raw_length(rest)
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn block_comment_length(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if tail.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted_length(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            '"' if !is_escaped => return at + 1,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    rest.len()
}

/// A character such as `'{'` or `'\''`, and not a lifetime.
fn character_length(rest: &str) -> usize {
    let inner: Vec<(usize, char)> = rest.char_indices().skip(1).take(12).collect();
    match inner.as_slice() {
        [(_, '\\'), (_, _), tail @ ..] => tail.iter().find(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        [(_, _), (at, '\''), ..] => at + 1,
        _ => 0,
    }
}

/// `r"…"`, `r#"…"#` and their kin.
fn raw_length(rest: &str) -> usize {
    let Some(tail) = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r')) else { return 0 };
    let hashes = tail.chars().take_while(|c| *c == '#').count();
    if !tail.get(hashes..).is_some_and(|tail| tail.starts_with('"')) {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let start = rest.len() - tail.len() + hashes + 1;
    let inner = rest.get(start..).and_then(|tail| tail.find(&end));
    inner.map_or(rest.len(), |length| start + length + end.len())
}

/// Blanks what stands in braces behind `#[cfg(test)]` or `#[test]`.
pub fn without_tests(code: &str) -> String {
    let mut kept = code.to_owned();
    for mark in ["#[cfg(test)]", "#[test]", "#[tokio::test"] {
        while let Some(at) = kept.find(mark) {
            let end = item_end(&kept, at);
            let mut blanked = String::new();
            blank(kept.get(at..end).unwrap_or_default(), &mut blanked);
            kept.replace_range(at..end, &blanked);
        }
    }
    kept
}

/// Where the item that begins at `at` ends: at its `;`, or at the brace that closes its first one.
pub fn item_end(code: &str, at: usize) -> usize {
    let mut depth = 0_usize;
    let mut parens = 0_usize;
    for (offset, character) in code.get(at..).unwrap_or_default().char_indices() {
        match character {
            '(' | '[' => parens += 1,
            ')' | ']' => parens = parens.saturating_sub(1),
            '{' => depth += 1,
            '}' if depth <= 1 => return at + offset + 1,
            '}' => depth -= 1,
            ';' if depth == 0 && parens == 0 => return at + offset + 1,
            _ => {}
        }
    }
    code.len()
}

/// Whether `word` stands in `code` by itself: no letter touches it where it begins or ends with one.
pub fn has(code: &str, word: &str) -> Option<usize> {
    let touches = |side: Option<char>, own: Option<char>| side.is_some_and(is_word) && own.is_some_and(is_word);
    code.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = code.get(..*at).and_then(|text| text.chars().next_back());
        let after = code.get(at + word.len()..).and_then(|text| text.chars().next());
        !touches(before, word.chars().next()) && !touches(after, word.chars().next_back())
    })
}

/// The line, counted from 1, of a byte.
pub fn line(code: &str, at: usize) -> usize {
    code.get(..at).unwrap_or_default().matches('\n').count() + 1
}

#[test]
fn prose_is_blanked_and_code_is_kept_in_its_place() {
    let cases = [
        ("a // {\nb", "a     \nb"),
        ("a /* { /* } */ */ b", "a                 b"),
        (r#"a "\"{" b"#, "a       b"),
        (r##"a r#"{"}"# b"##, "a          b"),
        ("a '{' '\\'' b", "a          b"),
        ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
        ("for \"x\"", "for    "),
    ];
    for (text, code) in cases {
        assert_eq!(without_prose(text), code, "{text}");
    }
}

#[test]
fn tests_are_blanked_and_what_follows_them_is_kept() {
    let code = without_tests("a();\n#[cfg(test)]\nmod tests { fn f() { spawn() } }\nb();");
    assert!(has(&code, "spawn").is_none());
    assert_eq!(code.trim_end().rsplit('\n').next(), Some("b();"));
    assert!(code.starts_with("a();\n"));
}

#[test]
fn a_word_is_found_by_itself_only() {
    assert!(has("use diesel::x;", "diesel").is_some());
    assert!(has("use diesel_async::x;", "diesel").is_none());
    assert!(has("my_tokio::spawn()", "tokio::spawn").is_none());
    assert!(has("tokio::spawn_local()", "tokio::spawn").is_none());
}
