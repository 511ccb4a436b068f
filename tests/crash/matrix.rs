//! Every cell of the matrix, on a file and on PostgreSQL, for bundles of one question and of three with one decided
//! before; run on a few threads.
//! May import: its siblings.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Mutex;

use super::base::{Base, Engine};
use super::scene::{Scene, Template};
use super::{answers, coder, cuts, dispatch, fallback, power, starts, stops, turns, waits};

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
    cuts::cp_59,
    cuts::cp_60,
    cuts::cp_60_unheard,
    cuts::cp_60_live,
    cuts::cp_60_live_unheard,
    cuts::cp_60_killed,
    stops::cp_61,
    stops::cp_61_live,
    stops::cp_61_others,
    starts::cp_62,
    starts::cp_62_fenced,
    starts::inspected,
    waits::answer_waits,
];

/// The last crash point of the design; what is named behind it is our own.
const LAST: usize = 62;

/// Cells of one engine alone, and why.
const ALONE: &[(&str, Engine, &str)] = &[
    ("cp_58", Engine::Sqlite, "what this process wrote and did not sync; PostgreSQL's files are PostgreSQL's"),
    ("cp_58_live", Engine::Sqlite, "the same"),
    ("cp_59", Engine::Postgres, "a database server falls, and a file has none"),
    ("cp_60", Engine::Postgres, "a connection is cut, and a file has none"),
    ("cp_60_unheard", Engine::Postgres, "the same"),
    ("cp_60_live", Engine::Postgres, "the same"),
    ("cp_60_live_unheard", Engine::Postgres, "the same"),
    ("cp_60_killed", Engine::Postgres, "the same"),
    ("cp_62", Engine::Sqlite, "a file has one server, and refuses the second"),
    ("cp_62_fenced", Engine::Postgres, "a database has several, and who takes another one's place fences it"),
    (
        "answer_waits",
        Engine::Sqlite,
        "counts this process's syncs; PostgreSQL syncs once for each of the same commits",
    ),
];

fn is_on(name: &str, engine: Engine) -> bool {
    ALONE.iter().all(|(alone, on, _)| *alone != name || *on == engine)
}

/// Crash points of the design that have no cell, and reasons for cells that are not there; none is right.
pub fn uncovered() -> Vec<String> {
    let has_cell = |point: &str| CELLS.iter().any(|(name, _)| name.starts_with(point));
    let points = (1..=LAST).map(|n| format!("cp_{n:02}")).filter(|point| !has_cell(point));
    let stale = ALONE.iter().filter(|(alone, ..)| CELLS.iter().all(|(name, _)| name != alone));
    points.chain(stale.map(|(name, ..)| (*name).to_owned())).map(|name| format!("{name} has no cell")).collect()
}

/// Runs the cells whose names hold one of `only`, or all, on these engines: how many there were, and which broke.
pub fn run(engines: &[Engine], only: &[String], at_once: usize) -> (usize, Vec<String>) {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stages = engines.iter().flat_map(|engine| [1, 3].map(|size| (*engine, size)));
    let stages: Vec<_> = stages
        .map(|(engine, size)| (engine, size, runtime().block_on(Template::new(Base::new(engine), size))))
        .collect();
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|part| name.contains(part));
    let wanted: Vec<_> = CELLS.iter().filter(|(name, _)| is_wanted(name)).collect();
    let of_stage = |stage| wanted.iter().map(move |cell| (*cell, stage));
    let jobs = stages.iter().flat_map(of_stage).filter(|((name, _), (engine, ..))| is_on(name, *engine));
    let jobs: Vec<_> = jobs.collect();
    let (queue, broken) = (Mutex::new(jobs.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let next = queue.lock().unwrap().next();
            let Some(((name, path), (engine, size, template))) = next else { return };
            let scene = template.copy();
            let run = || runtime().block_on(path(&scene));
            if catch_unwind(AssertUnwindSafe(run)).is_err() {
                broken.lock().unwrap().push(format!("{name} with {size} on {engine:?}"));
            }
        }
    };
    std::thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(work))));
    (jobs.len(), broken.into_inner().unwrap())
}
