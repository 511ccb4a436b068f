//! One caller, and what it may. May import: ids, scope, and its siblings.

use crate::ids::{PrincipalId, SessionId, WorkspaceId};
use crate::scope::Scope;

use super::Role;

/// Who asks for something. Made by `authenticate` only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Viewer {
    /// Who it is.
    pub principal: PrincipalId,
    /// What it is.
    pub role: Role,
    /// Which workspaces it reaches.
    pub scope: Scope,
    /// The one session that it is bound to; every agent is, and nobody else needs to be.
    pub session: Option<SessionId>,
}

impl Viewer {
    /// Whoever reaches a server that has no tokens; it then listens on loopback only.
    pub fn local() -> Self {
        Self { principal: PrincipalId::new("local"), role: Role::Operator, scope: Scope::All, session: None }
    }

    /// May ask questions and wait for answers. An agent without a session may nothing.
    pub fn may_ask(&self) -> bool {
        match self.role {
            Role::Runtime | Role::Operator => true,
            Role::Agent => self.session.is_some(),
            Role::Person => false,
        }
    }

    /// May answer and skip.
    pub fn may_answer(&self) -> bool {
        matches!(self.role, Role::Person | Role::Operator)
    }

    /// May send a prompt to an agent.
    pub fn may_prompt(&self) -> bool {
        matches!(self.role, Role::Person | Role::Runtime | Role::Operator)
    }

    /// May own tasks, sessions, turns and messages.
    pub fn may_run(&self) -> bool {
        matches!(self.role, Role::Runtime | Role::Operator)
    }

    /// May make tokens and settle what is ambiguous.
    pub fn may_operate(&self) -> bool {
        matches!(self.role, Role::Operator)
    }

    /// Reaches this workspace.
    pub fn may_read(&self, workspace: &WorkspaceId) -> bool {
        self.scope.allows(workspace)
    }

    /// Reaches the tasks of this workspace. Who is bound to a session sees nothing beside it.
    pub fn may_read_tasks(&self, workspace: &WorkspaceId) -> bool {
        self.session.is_none() && self.role != Role::Agent && self.may_read(workspace)
    }

    /// Reaches this session of that workspace.
    pub fn may_read_session(&self, workspace: &WorkspaceId, session: &SessionId) -> bool {
        let is_bound_elsewhere = match &self.session {
            Some(own) => own != session,
            None => self.role == Role::Agent,
        };
        !is_bound_elsewhere && self.may_read(workspace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viewer(role: Role, session: Option<&str>) -> Viewer {
        let scope = Scope::Workspaces(vec![WorkspaceId::new("ours")]);
        Viewer { principal: PrincipalId::new("p"), role, scope, session: session.map(SessionId::new) }
    }

    /// `ask, answer, prompt, run, operate` of each role, as the table of callers says.
    #[test]
    fn each_role_may_what_the_table_of_callers_says_and_no_more() {
        let may = |viewer: Viewer| {
            let Viewer { role, .. } = viewer;
            let all = [
                viewer.may_ask(),
                viewer.may_answer(),
                viewer.may_prompt(),
                viewer.may_run(),
                viewer.may_operate(),
            ];
            (role, all)
        };
        assert_eq!(may(viewer(Role::Person, None)), (Role::Person, [false, true, true, false, false]));
        assert_eq!(may(viewer(Role::Runtime, None)), (Role::Runtime, [true, false, true, true, false]));
        assert_eq!(may(viewer(Role::Agent, Some("s"))), (Role::Agent, [true, false, false, false, false]));
        assert_eq!(may(viewer(Role::Operator, None)), (Role::Operator, [true; 5]));
    }

    #[test]
    fn an_agent_without_a_session_may_nothing() {
        let stray = viewer(Role::Agent, None);
        let ours = WorkspaceId::new("ours");
        assert!(!stray.may_ask());
        assert!(!stray.may_read_tasks(&ours));
        assert!(!stray.may_read_session(&ours, &SessionId::new("s")));
    }

    #[test]
    fn who_is_bound_to_a_session_reaches_it_and_nothing_else() {
        let ours = WorkspaceId::new("ours");
        for role in Role::ALL {
            let bound = viewer(role, Some("own"));
            assert!(bound.may_read_session(&ours, &SessionId::new("own")));
            assert!(!bound.may_read_session(&ours, &SessionId::new("other")));
            assert!(!bound.may_read_tasks(&ours));
        }
    }

    #[test]
    fn a_workspace_outside_the_scope_is_out_of_reach_with_all_that_it_holds() {
        let theirs = WorkspaceId::new("theirs");
        for role in Role::ALL {
            let outsider = viewer(role, Some("own"));
            assert!(!outsider.may_read(&theirs));
            assert!(!outsider.may_read_session(&theirs, &SessionId::new("own")));
            assert!(!viewer(role, None).may_read_tasks(&theirs));
        }
    }

    #[test]
    fn the_local_user_reaches_everything() {
        let local = Viewer::local();
        assert!(local.may_operate() && local.may_answer());
        assert!(local.may_read_tasks(&WorkspaceId::new("any")));
        assert!(local.may_read_session(&WorkspaceId::new("any"), &SessionId::new("any")));
    }
}
