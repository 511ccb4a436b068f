//! The bars: each with its figure, and whether it is held, missed or void. May import: limits, rounds.

use std::fmt;

use super::limits::Limits;
use super::rounds::Rounds;

/// More than this from others makes a figure void.
const LOAD_MAX: f64 = 1.5;

/// In what the whole run was measured.
pub struct Setting {
    /// With less than the bars ask for.
    pub is_trial: bool,
    pub before: Limits,
    pub after: Limits,
}

/// What may make a figure void.
#[derive(Clone, Copy)]
pub struct Void {
    /// The mean load of others meanwhile.
    pub others: f64,
    /// The limit that it is measured beside is not what it was.
    pub is_limit_moved: bool,
}

/// All bars of a run.
pub struct Bars {
    setting: Setting,
    lines: Vec<String>,
}

impl Bars {
    pub fn new(setting: Setting) -> Self {
        Self { setting, lines: Vec::new() }
    }

    /// The median has to be at least that.
    pub fn at_least(&mut self, id: &str, what: &str, bar: f64, figure: &Rounds, more: &str, void: Void) {
        self.judge([id, what, &format!(">= {bar}"), more], figure, figure.median() >= bar, void);
    }

    /// The median has to be at most that.
    pub fn at_most(&mut self, id: &str, what: &str, bar: f64, figure: &Rounds, more: &str, void: Void) {
        self.judge([id, what, &format!("<= {bar}"), more], figure, figure.median() <= bar, void);
    }

    fn judge(&mut self, [id, what, bar, more]: [&str; 4], figure: &Rounds, is_held: bool, void: Void) {
        let verdict = match (self.void(void), is_held) {
            (Some(reason), _) => format!("void: {reason}"),
            (None, true) => "held".to_owned(),
            (None, false) => "missed".to_owned(),
        };
        let load = void.others;
        self.lines
            .push(format!("| {id} | {what} | {bar} | {figure} | {verdict} | {more}; load of others {load:.2} |"));
    }

    fn void(&self, void: Void) -> Option<&'static str> {
        let Setting { is_trial, before, after } = &self.setting;
        match void {
            _ if *is_trial => Some("a trial"),
            Void { others, .. } if others > LOAD_MAX => Some("load"),
            Void { is_limit_moved: true, .. } => Some("the raw server's rate moved"),
            _ if after.has_moved(before) => Some("the round trip moved"),
            _ => None,
        }
    }
}

/// A table; figures are medians, with least and most.
impl fmt::Display for Bars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n| bar | what | asked | median (least-most) | verdict | figures |\n|---|---|---|---|---|---|"
        )?;
        write!(f, "{}", self.lines.join("\n"))
    }
}
