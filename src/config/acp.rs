//! Coding agents that the server runs: `kind = "acp"` of an executor's table. An agent gets the variables that are
//! named there and no other one. May import: nothing of this crate.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::Secret;

/// Variables of the server that an agent gets, if nothing is said.
const INHERITED: [&str; 2] = ["PATH", "HOME"];

/// A version of the Agent Client Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcpVersion {
    /// Stable.
    V1,
    /// A draft.
    V2,
}

/// An agent's program, started once per session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acp {
    /// The program; no shell reads it.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// All its variables.
    pub env: BTreeMap<String, Secret>,
    /// Its working directory, absolute.
    pub cwd: PathBuf,
    /// The version that it speaks.
    pub version: AcpVersion,
    /// What it writes on stderr stands in the log.
    pub log_stderr: bool,
}

/// The table as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AcpTable {
    command: PathBuf,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, Secret>,
    env_inherit: Option<Vec<String>>,
    cwd: PathBuf,
    version: Option<u64>,
    #[serde(default)]
    log_stderr: bool,
}

impl AcpTable {
    /// # Errors
    /// The key, and what it must be.
    pub(super) fn check(self) -> Result<Acp, (&'static str, &'static str)> {
        if self.command.as_os_str().is_empty() {
            return Err(("command", "must name a program"));
        }
        if !self.cwd.is_absolute() || !self.cwd.is_dir() {
            return Err(("cwd", "must be the absolute path of a directory"));
        }
        let version = match self.version {
            None | Some(1) => AcpVersion::V1,
            Some(2) => AcpVersion::V2,
            Some(_) => return Err(("version", "must be 1 or 2")),
        };
        let inherited =
            self.env_inherit.unwrap_or_else(|| INHERITED.iter().map(|name| (*name).to_owned()).collect());
        let is_name = |name: &String| !name.is_empty() && !name.contains(['=', '\0']);
        if !self.env.keys().all(is_name) || self.env.values().any(|value| value.expose().contains('\0')) {
            return Err(("env", "must have names and values that a variable can have"));
        }
        if !inherited.iter().all(is_name) {
            return Err(("env_inherit", "must be names that a variable can have"));
        }
        let env = inherited.into_iter().filter_map(|name| own(&name).map(|value| (name, value))).chain(self.env);
        Ok(Acp {
            command: self.command,
            args: self.args,
            env: env.collect(),
            cwd: self.cwd,
            version,
            log_stderr: self.log_stderr,
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "these are the settings")]
fn own(name: &str) -> Option<Secret> {
    std::env::var(name).ok().map(|value| Secret::from(value.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Acp, (&'static str, &'static str)> {
        toml::from_str::<AcpTable>(text).unwrap().check()
    }

    const LEAST: &str = "command = 'coder'\ncwd = '/'\n";

    #[test]
    fn an_agent_gets_the_variables_that_are_named_and_no_other() {
        let acp =
            check(&format!("{LEAST}env_inherit = ['PATH']\nenv = {{ KEY = 'secret', PATH = '/bin' }}")).unwrap();
        let env: Vec<_> = acp.env.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        assert_eq!(env, [("KEY", "secret"), ("PATH", "/bin")]);
        assert!(!format!("{acp:?}").contains("secret"));
        let silent = check(&format!("{LEAST}env_inherit = []")).unwrap();
        assert!(silent.env.is_empty());
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let acp = check(LEAST).unwrap();
        assert!(acp.env.keys().all(|name| INHERITED.contains(&name.as_str())), "{:?}", acp.env);
        assert_eq!((acp.version, acp.log_stderr, acp.args.len()), (AcpVersion::V1, false, 0));
    }

    #[test]
    fn what_cannot_be_used_is_refused_by_its_key() {
        for (text, key) in [
            ("command = ''\ncwd = '/'", "command"),
            ("command = 'coder'\ncwd = 'here'", "cwd"),
            ("command = 'coder'\ncwd = '/not/there'", "cwd"),
            ("command = 'coder'\ncwd = '/'\nversion = 3", "version"),
            ("command = 'coder'\ncwd = '/'\nenv = { 'A=B' = 'c' }", "env"),
            ("command = 'coder'\ncwd = '/'\nenv_inherit = ['']", "env_inherit"),
        ] {
            assert_eq!(check(text).unwrap_err().0, key, "{text}");
        }
    }
}
