//! The frame of one change: the documents that cause and follow it, and what must stand in it. Found in the text, for a
//! client that reads all of it would be measured itself. May import: nothing.

/// Follows all tasks; what it tells of one is what a row of a list shows.
pub const FOLLOW: &str = "subscription { taskChanges { __typename ... on TaskChanged { task { id title state lastActivityAt \
    pendingAction statusSummary { revision updatedAt pendingAction activeSubagentCount } } } } }";
/// The change with a number.
pub const CHANGE: &str = "mutation($input: ReportActivityInput!) { reportActivity(input: $input) { __typename } }";

const NUMBER: &str = "\"activeSubagentCount\":";
const REVISION: &str = "\"revision\":\"";

/// What a frame says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The number of the change.
    pub number: u64,
    /// The revision of the task's summary.
    pub revision: u64,
}

/// None: it is the frame of no change.
pub fn read(text: &str) -> Option<Said> {
    let number = |name: &str| {
        let rest = text.get(text.find(name)? + name.len()..)?;
        rest.get(..rest.find(|c: char| !c.is_ascii_digit())?)?.parse().ok()
    };
    Some(Said { number: number(NUMBER)?, revision: number(REVISION)? })
}

/// The same frame of another change.
pub fn write(frame: &str, said: Said) -> String {
    let Some(old) = read(frame) else { return frame.to_owned() };
    let pair = |name: &str, number: u64| format!("{name}{number}");
    frame
        .replace(&pair(NUMBER, old.number), &pair(NUMBER, said.number))
        .replace(&pair(REVISION, old.revision), &pair(REVISION, said.revision))
}
