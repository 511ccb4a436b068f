//! How large a document may be, checked over its parsed form before anything of it runs. May import: nothing of
//! this crate outside this room.

use std::time::Duration;

use async_graphql::Name;
use async_graphql::parser::types::{ExecutableDocument, OperationType, Selection, SelectionSet};
use async_graphql::{Positioned, ServerError};

use super::fault::{Code, server_error};
use super::scan::shape;

/// Limits of one request; each a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a document.
    pub document_bytes_max: usize,
    /// Tokens of a document.
    pub tokens_max: usize,
    /// Nested brackets of a document or of a JSON body.
    pub nesting_max: usize,
    /// Nested fields; introspection is exempt.
    pub depth_max: usize,
    /// Nested selections with fragments.
    pub recursion_max: usize,
    /// Selections that are looked at; fragments can multiply them beyond any document's length.
    pub selections_max: usize,
    /// Fields of the root, with those of fragments.
    pub root_fields_max: usize,
    /// Aliases of a document.
    pub aliases_max: usize,
    /// Directives of a document.
    pub directives_max: usize,
    /// What the fields cost together: each one, those of a page as often as the page is long.
    pub complexity_max: usize,
    /// Sessions that `taskSessions` returns.
    pub task_sessions_max: i64,
    /// How long one call may wait for an answer; whole seconds of it count.
    pub wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            document_bytes_max: 32 * 1024,
            tokens_max: 5_000,
            nesting_max: 64,
            depth_max: 12,
            recursion_max: 32,
            selections_max: 10_000,
            root_fields_max: 20,
            aliases_max: 100,
            directives_max: 20,
            complexity_max: 5_000,
            task_sessions_max: 500,
            wait: Duration::from_secs(600),
        }
    }
}

fn exceeded(what: &str, limit: usize) -> ServerError {
    let mut error = server_error(Code::LimitExceeded, format!("{what} is limited to {limit}"));
    if let (Some(extensions), Ok(limit)) = (&mut error.extensions, i64::try_from(limit)) {
        extensions.set("limit", limit);
    }
    error
}

fn check(what: &str, count: usize, limit: usize) -> Result<(), ServerError> {
    if count > limit { Err(exceeded(what, limit)) } else { Ok(()) }
}

impl Limits {
    /// Checks a document's text, before a parser recurses over it.
    pub(super) fn check_text(&self, query: &str) -> Result<(), ServerError> {
        check("the document's length in bytes", query.len(), self.document_bytes_max)?;
        let shape = shape(query);
        check("the document's number of tokens", shape.tokens, self.tokens_max)?;
        check("the document's nesting", shape.nesting, self.nesting_max)
    }

    /// Checks a JSON text's nesting.
    ///
    /// # Errors
    /// It is nested too deeply.
    pub fn check_json(&self, text: &str) -> Result<(), ServerError> {
        check("the nesting of JSON", shape(text).nesting, self.nesting_max)
    }

    /// Checks a parsed document.
    pub(super) fn check_document(&self, document: &ExecutableDocument) -> Result<(), ServerError> {
        let mut count = Count { limits: self, document, selections: 0, aliases: 0, directives: 0, responses: 0 };
        for (_, operation) in document.operations.iter() {
            count.directives(operation.node.directives.len())?;
            let is_mutation = operation.node.ty == OperationType::Mutation;
            let mut root = 0;
            let level = Level { depth: 0, recursion: 0, is_counted: true };
            count.walk(&operation.node.selection_set, level, &mut |name| {
                root += 1;
                is_mutation && matches!(name, "respond" | "skip")
            })?;
            check("the number of root fields", root, self.root_fields_max)?;
        }
        check("the number of respond and skip fields in a document", count.responses, 1)
    }
}

struct Count<'a> {
    limits: &'a Limits,
    document: &'a ExecutableDocument,
    selections: usize,
    aliases: usize,
    directives: usize,
    responses: usize,
}

#[derive(Clone, Copy)]
struct Level {
    /// Fields above.
    depth: usize,
    /// Fields and fragments above.
    recursion: usize,
    /// Not inside introspection.
    is_counted: bool,
}

impl<'a> Count<'a> {
    fn directives(&mut self, more: usize) -> Result<(), ServerError> {
        self.directives = self.directives.saturating_add(more);
        check("the number of directives", self.directives, self.limits.directives_max)
    }

    /// Walks a selection; `root` hears the fields of the outermost level and says whether one is a response.
    fn walk(
        &mut self,
        set: &Positioned<SelectionSet>,
        level: Level,
        root: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), ServerError> {
        check("the nesting of selections", level.recursion, self.limits.recursion_max)?;
        let deeper = Level { recursion: level.recursion.saturating_add(1), ..level };
        for selection in &set.node.items {
            self.selections = self.selections.saturating_add(1);
            check("the number of selections", self.selections, self.limits.selections_max)?;
            self.directives(selection.node.directives().len())?;
            match &selection.node {
                Selection::InlineFragment(inline) => self.walk(&inline.node.selection_set, deeper, root)?,
                Selection::FragmentSpread(spread) => {
                    if let Some(fragment) = self.fragment(&spread.node.fragment_name.node) {
                        self.walk(fragment, deeper, root)?;
                    }
                }
                Selection::Field(field) => {
                    let name = field.node.name.node.as_str();
                    if level.depth == 0 && root(name) {
                        self.responses = self.responses.saturating_add(1);
                    }
                    self.aliases = self.aliases.saturating_add(usize::from(field.node.alias.is_some()));
                    check("the number of aliases", self.aliases, self.limits.aliases_max)?;
                    let is_counted = level.is_counted && !name.starts_with("__");
                    let depth = level.depth.saturating_add(1);
                    if is_counted {
                        check("the depth of fields", depth, self.limits.depth_max)?;
                    }
                    self.walk(&field.node.selection_set, Level { depth, is_counted, ..deeper }, root)?;
                }
            }
        }
        Ok(())
    }

    fn fragment(&self, name: &Name) -> Option<&'a Positioned<SelectionSet>> {
        self.document.fragments.get(name).map(|fragment| &fragment.node.selection_set)
    }
}
