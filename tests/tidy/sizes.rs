//! How large files and functions are. May import: source, code.

use crate::code;
use crate::source::Source;

const FILE_LINES_MAX: usize = 500;
const FILE_LINES_MEDIAN: usize = 150;
const FUNCTION_LINES_MAX: usize = 70;
const FUNCTION_LINES_MEDIAN: usize = 10;

/// What is too large, one by one and on the whole.
pub fn check(sources: &[Source]) -> Vec<String> {
    let functions: Vec<_> = sources.iter().flat_map(functions).collect();
    let files: Vec<_> = sources.iter().map(|source| (source.path.clone(), source.text.lines().count())).collect();
    [
        too_long(&files, FILE_LINES_MAX, "a file"),
        too_long(&functions, FUNCTION_LINES_MAX, "a function"),
        too_long(&[median(&files, "the median file")], FILE_LINES_MEDIAN, "it"),
        too_long(&[median(&functions, "the median function")], FUNCTION_LINES_MEDIAN, "it"),
    ]
    .concat()
}

fn too_long(items: &[(String, usize)], most: usize, what: &str) -> Vec<String> {
    let long = items.iter().filter(|(_, lines)| *lines > most);
    long.map(|(name, lines)| format!("{name}: {lines} lines; {what} has at most {most}")).collect()
}

fn median(items: &[(String, usize)], name: &str) -> (String, usize) {
    let mut lines: Vec<_> = items.iter().map(|(_, lines)| *lines).collect();
    lines.sort_unstable();
    (name.to_owned(), lines.get(lines.len() / 2).copied().unwrap_or_default())
}

/// Each function with a body: `path:line name`, and its lines from `fn` to its last brace.
fn functions(source: &Source) -> Vec<(String, usize)> {
    let code = code::without_prose(&source.text);
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let is_word = code.get(..at).is_some_and(|text| text.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
        let end = code::item_end(&code, at);
        let item = code.get(at..end).unwrap_or_default();
        if !is_word && item.ends_with('}') {
            let name: String = item.chars().skip(3).take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let line = code::line(&code, at);
            found.push((format!("{}:{line} {name}", source.path), item.lines().count()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: usize) -> Source {
        Source::new("src/a.rs", &"x\n".repeat(lines))
    }

    fn function(lines: usize) -> Source {
        Source::new("src/a.rs", &format!("fn f() {{\n{}}}\n", "x;\n".repeat(lines - 2)))
    }

    #[test]
    fn a_function_is_measured_from_its_name_to_its_last_brace() {
        let text =
            "trait T { fn g(&self) -> [u8; 2]; }\nfn f(a: [u8; 3])\nwhere\n    A: B,\n{\n    if x { \"}\" }\n}\n";
        assert_eq!(functions(&Source::new("src/a.rs", text)), [("src/a.rs:2 f".to_owned(), 6)]);
    }

    #[test]
    fn one_line_too_many_is_seen() {
        let small = || function(3);
        let seen = |large: Source| check(&[small(), small(), large]).len();
        assert_eq!((seen(file(FILE_LINES_MAX)), seen(file(FILE_LINES_MAX + 1))), (0, 1));
        assert_eq!((seen(function(FUNCTION_LINES_MAX)), seen(function(FUNCTION_LINES_MAX + 1))), (0, 1));
    }

    #[test]
    fn a_median_that_grew_is_seen() {
        assert_eq!((check(&[file(FILE_LINES_MEDIAN)]).len(), check(&[file(FILE_LINES_MEDIAN + 1)]).len()), (0, 1));
        let at = FUNCTION_LINES_MEDIAN;
        assert_eq!((check(&[function(at)]).len(), check(&[function(at + 1)]).len()), (0, 1));
    }
}
