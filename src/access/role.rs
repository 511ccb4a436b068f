//! The four kinds of caller. May import: nothing of this crate.

/// What a caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Reads, answers, skips and prompts.
    Person,
    /// An orchestrator: owns tasks, sessions, turns and messages, and may ask.
    Runtime,
    /// A coding agent in one session: asks and waits there.
    Agent,
    /// May do everything, and alone makes tokens and settles what is ambiguous.
    Operator,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Person, Self::Runtime, Self::Agent, Self::Operator];

    /// Its name, as the store and the command line write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Runtime => "runtime",
            Self::Agent => "agent",
            Self::Operator => "operator",
        }
    }

    /// The role of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_is_read_as_it_is_written_and_nothing_else_is_a_role() {
        for role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        for other in ["", "Operator", "operator ", "admin"] {
            assert_eq!(Role::parse(other), None);
        }
    }
}
