//! CP-58: power is cut at each sync of an answer, the start before it included. A tracer records what the real binary
//! writes and syncs; the files are rebuilt as a disk would hold them that lost, or tore, what was not synced yet.
//! May import: its siblings, the crate.

use std::collections::BTreeMap;

use answerable::lifecycle::BundleState;
use serde_json::Value;

use super::after::{acts, conflicts, facts, is_answerable, kind};
use super::scene::{Acts, Scene};
use super::server::{Server, Start};

/// The database, its log, and what the agent noted; the index of the log is rebuilt by whoever opens it.
const FILES: [&str; 3] = ["db", "db-wal", "dispatches"];

/// What the process did to a file.
#[derive(Debug)]
enum Deed {
    Write { at: Option<usize>, data: Vec<u8> },
    Cut(usize),
    Sync,
}

/// The content of each file.
type Disk = BTreeMap<&'static str, Vec<u8>>;

fn bytes(text: &str) -> Vec<u8> {
    text.split("\\x").skip(1).map(|pair| u8::from_str_radix(&pair[..2], 16).unwrap()).collect()
}

/// The number that a text begins with.
fn number(text: &str) -> usize {
    text.trim_start().split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// What a log says, in its order. A write counts from its begin, a sync from its end.
fn deeds(log: &str) -> Vec<(&'static str, Deed)> {
    let (mut deeds, mut syncing) = (Vec::new(), BTreeMap::new());
    for line in log.lines() {
        let (thread, rest) = line.split_once(char::is_whitespace).unwrap();
        let rest = rest.trim_start();
        if rest.starts_with("<... f") {
            deeds.extend(syncing.remove(thread).map(|file| (file, Deed::Sync)));
            continue;
        }
        let Some((call, args)) = rest.split_once('(') else { continue };
        let Some(path) = args.split_once('<').and_then(|(_, path)| Some(path.split_once('>')?.0)) else {
            continue;
        };
        let path = String::from_utf8(bytes(path)).unwrap();
        let Some(file) = FILES.into_iter().find(|file| path.ends_with(&format!("cell.{file}"))) else { continue };
        let quoted: Vec<_> = args.split('"').collect();
        match call {
            "pwrite64" => {
                let at = Some(number(quoted[2].split(',').nth(2).unwrap()));
                deeds.push((file, Deed::Write { at, data: bytes(quoted[1]) }));
            }
            "write" => deeds.push((file, Deed::Write { at: None, data: bytes(quoted[1]) })),
            "ftruncate" => deeds.push((file, Deed::Cut(number(args.split(',').nth(1).unwrap())))),
            _ if rest.ends_with("<unfinished ...>") => drop(syncing.insert(thread, file)),
            _ => deeds.push((file, Deed::Sync)),
        }
    }
    deeds
}

fn apply(content: &mut Vec<u8>, deed: &Deed) {
    match deed {
        Deed::Write { at, data } => {
            let at = at.unwrap_or(content.len());
            content.resize(content.len().max(at + data.len()), 0);
            content[at..at + data.len()].copy_from_slice(data);
        }
        Deed::Cut(length) => content.truncate(*length),
        Deed::Sync => {}
    }
}

/// The disk after these deeds. What was not synced is gone, or, torn, every second write of it is there.
fn disk(base: &Disk, deeds: &[(&'static str, Deed)], is_torn: bool) -> Disk {
    let mut disk = base.clone();
    for (file, content) in &mut disk {
        let own: Vec<_> = deeds.iter().filter(|(of, _)| of == file).map(|(_, deed)| deed).collect();
        let synced = own.iter().rposition(|deed| matches!(deed, Deed::Sync)).unwrap_or(0);
        own[..synced].iter().for_each(|deed| apply(content, deed));
        own[synced..].iter().step_by(2).filter(|_| is_torn).for_each(|deed| apply(content, deed));
    }
    disk
}

/// Answers once under the tracer; the disk as it was before, and what was done to it.
async fn record(
    scene: &Scene,
    path: impl AsyncFnOnce(Acts<'_>) -> Option<Value>,
) -> (Disk, Vec<(&'static str, Deed)>) {
    let read = |file: &&'static str| (*file, std::fs::read(scene.database.beside(file)).unwrap_or_default());
    let base = FILES.iter().map(read).collect();
    let log = scene.database.beside("strace");
    let args = "-D -f -y -xx -s 1000000 -qq -e signal=none -e trace=pwrite64,write,ftruncate,fdatasync,fsync -o";
    let args: Vec<_> = args.split(' ').map(str::to_owned).chain([log.display().to_string()]).collect();
    let Start::Listens(server) = Server::start_under("strace", &args, &scene.database, "").await else {
        panic!("the server did not start under strace")
    };
    let answered = path(acts(scene, &server)).await;
    assert_eq!(kind(&answered), "ResponseAccepted", "{answered:?}");
    server.kill().await;
    (base, deeds(&std::fs::read_to_string(&log).unwrap()))
}

pub async fn cp_58(scene: &Scene) {
    cut(scene, async |acts| acts.respond("answer").await).await;
}

/// While somebody waits.
pub async fn cp_58_live(scene: &Scene) {
    let path = async |acts: Acts<'_>| {
        let respond = async {
            acts.until_live().await;
            acts.respond("answer").await
        };
        tokio::join!(acts.wait(20), respond).1
    };
    cut(scene, path).await;
}

async fn cut(scene: &Scene, path: impl AsyncFnOnce(Acts<'_>) -> Option<Value>) {
    let (base, deeds) = record(scene, path).await;
    let is_sync = |(n, (_, deed)): (usize, &(&str, Deed))| matches!(deed, Deed::Sync).then_some(n);
    let syncs: Vec<_> = deeds.iter().enumerate().filter_map(is_sync).collect();
    assert!(syncs.len() > 4, "{deeds:?}");
    // The last cut is behind everything, when the answer had long been acknowledged.
    for cut in syncs.into_iter().chain([deeds.len()]) {
        for is_torn in [false, true] {
            let cell = Scene::copied(scene);
            for (file, content) in disk(&base, &deeds[..cut], is_torn) {
                std::fs::write(cell.database.beside(file), content).unwrap();
            }
            let is_seen = deeds[..cut].iter().any(|(file, _)| *file == "dispatches");
            stands(
                &cell,
                is_seen,
                cut == deeds.len(),
                &format!("cut at {cut} of {}, torn {is_torn}", deeds.len()),
            )
            .await;
        }
    }
}

/// What the agent may have seen is never answerable again; what was acknowledged is there.
async fn stands(cell: &Scene, is_seen: bool, is_acknowledged: bool, what: &str) {
    let server = cell.restart().await;
    assert_eq!(cell.read("SELECT integrity_check AS line FROM pragma_integrity_check"), ["ok"], "{what}");
    match facts(cell).await.bundle.state() {
        BundleState::Terminal => {
            conflicts(cell, &server).await;
            server.kill().await;
        }
        state => {
            assert!(!is_seen && !is_acknowledged, "{what}: {state:?}");
            is_answerable(cell, server).await;
        }
    }
}
