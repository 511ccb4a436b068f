//! Statements to a PostgreSQL database from outside of the server under test. May import: the private server.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Stdio};

use crate::postgres::psql;

/// What statements print.
pub fn run(url: &str, statements: &str) -> String {
    let output = psql(url).args(["-c", statements]).output().unwrap();
    assert!(output.status.success(), "{statements}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A connection that stays open between two statements.
pub struct Session {
    child: Child,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Session {
    pub fn open(url: &str) -> Self {
        let mut child = psql(url).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, answers }
    }

    /// Runs statements, and returns when they are through.
    pub fn run(&mut self, statements: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{statements};\n\\echo done").unwrap();
        let answer = self.answers.next().expect("psql ended").unwrap();
        assert_eq!(answer, "done", "{statements}");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
