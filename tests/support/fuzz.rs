//! Fuzzing without a tool of its own: inputs of a kept corpus, changed at random from a seed that is told, so that a run
//! can be made again. What breaks a property is kept in the corpus. CASES changes of each input, or as long as
//! `FUZZ_SECONDS` says; SEED. May import: nothing of this crate.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use proptest::prelude::RngExt as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use tokio::time::Instant;

/// Pieces that parsers stumble over.
const PIECES: [&str; 24] = [
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "-0",
    "1e999",
    "9223372036854775808",
    "\u{0}",
    "\u{202e}",
    "\u{fffd}",
    "...",
    "$",
    "@skip(if: true)",
    "\"\"\"",
    "#",
    "é",
    "😀",
];
const CHANGES_MAX: usize = 8;

#[expect(clippy::disallowed_methods, reason = "a test's own switch")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn pick(random: &mut TestRng, below: usize) -> usize {
    random.random_range(0..below.max(1))
}

fn change(random: &mut TestRng, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
    let at = pick(random, input.len() + 1);
    let to = at + pick(random, (input.len() - at).min(32) + 1);
    let part = input[at..to].to_vec();
    match pick(random, 6) {
        0 => drop(input.splice(at..to, [])),
        1 => drop(input.splice(at..at, part)),
        2 if at < input.len() => input[at] ^= 1 << pick(random, 8),
        3 => input.truncate(at),
        4 => {
            let other = &corpus[pick(random, corpus.len())];
            let from = pick(random, other.len() + 1);
            drop(input.splice(at..to, other[from..].iter().copied()));
        }
        _ => drop(input.splice(at..at, PIECES[pick(random, PIECES.len())].bytes())),
    }
}

/// Tries a property on every input of `tests/hostile/corpus/NAME`, and on changed ones.
pub fn fuzz(name: &str, cases: u64, property: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/corpus").join(name);
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let corpus: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let seed = number("SEED").unwrap_or(1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let end = number("FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut tried = 0;
    let tries = |input: &[u8]| {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| property(input))) {
            let kept = folder.join(format!("broke-seed-{seed}-{}", input.len()));
            std::fs::write(&kept, input).unwrap();
            println!("{name}: broken by {}", kept.display());
            std::panic::resume_unwind(panic);
        }
    };
    corpus.iter().for_each(|input| tries(input));
    while end.map_or(tried < cases, |end| Instant::now() < end) {
        let mut input = corpus[pick(&mut random, corpus.len())].clone();
        for _ in 0..=pick(&mut random, CHANGES_MAX) {
            change(&mut random, &mut input, &corpus);
        }
        tries(&input);
        tried += 1;
    }
    println!("fuzz {name}: corpus={} tried={tried} seed={seed} broken=0", corpus.len());
}
