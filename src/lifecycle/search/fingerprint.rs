//! What makes two worlds the same: names by place, no times, and of history only what can still matter.
//! May import: ids and the rest of lifecycle.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::ids::{PendingId, TurnId};
use crate::lifecycle::{Bundle, Question, SessionView, Turn};

use super::rules;
use super::world::World;

/// Equal for worlds that go on alike. Two hashes of 64 bits over the same bytes: no two of a few million states
/// share both by accident.
pub(super) fn fingerprint(world: &World) -> u128 {
    let (mut one, mut two) = (DefaultHasher::new(), DefaultHasher::new());
    two.write_u8(1);
    let mut sheet = Sheet(Vec::with_capacity(128));
    sheet.world(world);
    sheet.0.hash(&mut one);
    sheet.0.hash(&mut two);
    u128::from(one.finish()) << 64 | u128::from(two.finish())
}

struct Sheet(Vec<u8>);

/// A place, counted from one; zero is nowhere. Searches never hold as many as 255 of a kind.
fn place<T>(items: &[T], is_it: impl Fn(&T) -> bool) -> u8 {
    items.iter().position(is_it).map_or(0, |n| u8::try_from(n + 1).unwrap())
}

fn turn_place(view: &SessionView, id: &TurnId) -> u8 {
    place(&view.turns, |turn| &turn.id == id)
}

fn bundle_place(view: &SessionView, id: &PendingId) -> u8 {
    place(&view.bundles, |bundle| &bundle.pending_id == id)
}

impl Sheet {
    fn put<T: Hash>(&mut self, value: &T) {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        self.0.extend(hasher.finish().to_le_bytes());
    }

    fn flags(&mut self, flags: [bool; 8]) {
        self.0.push(flags.iter().fold(0, |byte, flag| byte << 1 | u8::from(*flag)));
    }

    fn count(&mut self, count: usize) {
        self.0.push(u8::try_from(count).unwrap());
    }

    fn world(&mut self, world: &World) {
        let view = &world.view;
        self.put(&view.session.as_ref().map(|session| session.state));
        self.0.extend([world.asked, u8::from(view.permissions.is_empty())]);
        self.put(&world.stated);
        // An edited message quiets the watchdog of its turn.
        let edited = view.message.as_ref().and_then(|message| view.turn(&message.turn_id));
        self.0.push(edited.filter(|turn| turn.watchdog.is_some()).map_or(0, |turn| turn_place(view, &turn.id)));
        self.count(view.turns.len());
        for turn in &view.turns {
            self.turn(world, turn);
        }
        self.count(view.bundles.len());
        for bundle in &view.bundles {
            self.bundle(world, bundle);
        }
    }

    fn turn(&mut self, world: &World, turn: &Turn) {
        let view = &world.view;
        let reservation = turn.reservation.as_ref();
        self.flags([
            turn.end.is_some(),
            turn.has_evidence,
            reservation.is_some(),
            reservation.is_some_and(|r| r.is_attempted),
            reservation.is_some_and(|r| r.is_acknowledged),
            world.started.contains(&turn.id),
            world.completed.contains(&turn.id),
            rules::is_authoritative(turn),
        ]);
        let source = reservation.and_then(|reservation| reservation.source.as_ref());
        self.0.push(source.map_or(0, |source| bundle_place(view, &source.pending_id)));
        let watched = turn.watchdog.iter().flat_map(|watchdog| watchdog.bundles());
        self.0.extend(watched.map(|id| bundle_place(view, id)).chain([u8::MAX]));
        self.put(&world.reply(&turn.id));
        // What was once known of an older dispatch is settled, and moves nothing.
        let is_current = rules::current(view).is_some_and(|current| current.id == turn.id);
        self.put(&turn.dispatch_outcome.filter(|_| is_current));
    }

    /// Of a bundle under a newer turn that stays, only its shape counts.
    fn bundle(&mut self, world: &World, bundle: &Bundle) {
        let view = &world.view;
        self.0.push(rules::turn_of(bundle).map_or(0, |id| turn_place(view, &TurnId::new(id))));
        self.count(bundle.questions.len());
        self.count(rules::waiters(view, bundle));
        let is_past = !rules::is_current(view, bundle) && rules::reserved(view).is_none();
        let is_quiet = rules::open_claim(bundle).is_none();
        if is_past && is_quiet {
            self.0.push(u8::from(bundle.questions.iter().any(Question::is_pending)));
            return;
        }
        self.count(world.dispatches(&bundle.pending_id));
        self.0.push(u8::from(world.returned.contains(&bundle.pending_id)));
        for question in &bundle.questions {
            self.question(view, question);
        }
    }

    fn question(&mut self, view: &SessionView, question: &Question) {
        self.0.extend(question.status.as_str().as_bytes());
        let claim = question.claim.as_ref();
        self.flags([
            question.is_detached,
            question.is_result_received,
            question.is_watchdog_spent,
            question.turn_id.as_str().is_empty(),
            claim.is_some(),
            claim.is_some_and(|claim| claim.is_open),
            claim.is_some_and(|claim| claim.is_retired),
            question.is_status_absent,
        ]);
        self.0.push(question.dispatched_turn_id.as_ref().map_or(0, |id| turn_place(view, id)));
        self.put(&question.dispatch_outcome);
    }
}
