//! Every cell of the matrix, for bundles of one question and of three with one decided before; run on a few threads.
//! May import: its siblings.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Mutex;

use super::scene::{Scene, Template};
use super::{answers, coder, dispatch, fallback, power, starts, stops, turns, waits};

type Path = for<'s> fn(&'s Scene) -> Pin<Box<dyn Future<Output = ()> + 's>>;

macro_rules! cells {
    ($($room:ident :: $name:ident,)*) => {
        &[$((stringify!($name), |scene| Box::pin($room::$name(scene)))),*]
    };
}

const CELLS: &[(&str, Path)] = cells![
    turns::cp_01,
    turns::cp_02,
    turns::cp_03,
    turns::cp_04,
    turns::cp_03_again,
    turns::cp_04_again,
    turns::cp_04_hang_up,
    turns::cp_05,
    turns::cp_06,
    turns::cp_07,
    turns::cp_08,
    answers::cp_09,
    answers::cp_09_detached,
    answers::cp_10,
    answers::cp_11,
    answers::cp_12,
    answers::cp_12_skip,
    answers::cp_13,
    answers::cp_13_alive,
    answers::cp_14,
    answers::cp_15,
    answers::cp_15_alive,
    answers::cp_16,
    answers::cp_17,
    answers::cp_18,
    answers::cp_19,
    answers::cp_20,
    answers::cp_20_restored,
    answers::cp_20_race,
    fallback::cp_21,
    fallback::cp_21_fired,
    fallback::cp_26_fallback,
    fallback::cp_27_fallback,
    fallback::cp_28_fallback,
    fallback::cp_29_fallback,
    fallback::cp_30_fallback,
    fallback::cp_31_fallback,
    fallback::cp_34_fallback,
    fallback::cp_36_fallback,
    answers::cp_22,
    answers::cp_23,
    dispatch::cp_24,
    dispatch::cp_25,
    dispatch::cp_26,
    dispatch::cp_27,
    dispatch::cp_28,
    dispatch::cp_29,
    dispatch::cp_30,
    dispatch::cp_31,
    dispatch::cp_32,
    dispatch::cp_33,
    dispatch::cp_33_unknown,
    dispatch::cp_34,
    dispatch::cp_34_rows,
    dispatch::cp_35,
    dispatch::cp_36,
    dispatch::cp_36_revoked,
    dispatch::cp_37,
    dispatch::cp_38,
    dispatch::cp_38_committed,
    dispatch::cp_39,
    dispatch::cp_39_committed,
    dispatch::cp_40,
    coder::cp_27_coder,
    coder::cp_28_coder,
    coder::cp_29_coder,
    coder::cp_30_coder,
    coder::cp_31_coder,
    turns::cp_41,
    turns::cp_42,
    turns::cp_43,
    turns::cp_44,
    turns::cp_44_committed,
    turns::cp_45,
    turns::cp_46,
    turns::cp_46_committed,
    turns::cp_47,
    turns::cp_48,
    turns::cp_49,
    turns::cp_63,
    turns::cp_64,
    starts::cp_50,
    starts::cp_50_rows,
    starts::cp_51,
    starts::cp_52,
    starts::cp_53,
    starts::cp_53_order,
    starts::cp_54,
    starts::cp_55,
    starts::flags,
    starts::cp_56,
    starts::cp_57,
    power::cp_58,
    power::cp_58_live,
    stops::cp_61,
    stops::cp_61_live,
    stops::cp_61_others,
    starts::cp_62,
    starts::inspected,
    waits::answer_waits,
];

/// The last crash point of the design; what is named behind it is our own.
const LAST: usize = 62;

/// Crash points that this matrix cannot reach, and why.
const WITHOUT: &[(&str, &str)] = &[
    ("cp_59", "needs PostgreSQL: a backend is ended during its commit"),
    ("cp_60", "needs PostgreSQL: its connection is cut behind a commit"),
];

/// Crash points of the design without a cell, and reasons that are out of date; none is right.
pub fn uncovered() -> Vec<String> {
    let has_cell = |point: &str| CELLS.iter().any(|(name, _)| name.starts_with(point));
    let reason = |point: &str| WITHOUT.iter().find(|(known, _)| *known == point);
    let all = (1..=LAST).map(|n| format!("cp_{n:02}"));
    all.filter(|point| has_cell(point) == reason(point).is_some())
        .map(|point| format!("{point} has no cell, or one and a reason to have none"))
        .collect()
}

/// Runs the cells whose names hold `only`: how many there were, and which broke.
pub fn run(only: Option<&str>, at_once: usize) -> (usize, Vec<String>) {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let templates = [1, 3].map(|size| (size, runtime().block_on(Template::new(size))));
    let wanted = CELLS.iter().filter(|(name, _)| only.is_none_or(|only| name.contains(only)));
    let jobs: Vec<_> = wanted.flat_map(|cell| templates.iter().map(move |(size, t)| (cell, size, t))).collect();
    let (queue, broken) = (Mutex::new(jobs.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(((name, path), size, template)) = next else { return };
                    let scene = template.copy();
                    let run = || runtime().block_on(path(&scene));
                    if catch_unwind(AssertUnwindSafe(run)).is_err() {
                        broken.lock().unwrap().push(format!("{name} with {size}"));
                    }
                }
            });
        }
    });
    (jobs.len(), broken.into_inner().unwrap())
}
