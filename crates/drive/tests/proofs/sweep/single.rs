//! Each block of media by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use assay_testing::is_full;

use super::case::{Allowance, Outcome, Ran, run};
use super::scarred::Scar;
use super::specimen::{Ending, Specimen};
use crate::common::anatomy::{Part, Stream, u64_at};
use crate::common::random::Random;

/// Blocks of each kind of structure that are tried in each way, for each specimen, unless all are.
const OF_A_KIND: usize = 1;

/// Cases that are this far apart follow each other.
const SPREAD: usize = 97;

/// One block of one specimen, damaged in one way.
struct Case {
    specimen: &'static Specimen,
    block: u64,
    scar: Scar,
    /// The first structure in the block.
    part: Option<Part>,
}

/// The permitted consequences of one bad block: its contents cannot be read, and nothing else. The
/// last chunk of the log, which nothing proves to have been durable, cannot be told from one that a
/// power cut tore.
pub fn allowance(specimen: &Specimen, block: u64) -> Allowance {
    let told = told_durable(specimen, &[block]);
    let is_last = specimen.ending != Ending::Closed
        && specimen.pieces.iter().any(|piece| {
            let is_here = super::specimen::blocks_of(&piece.range).contains(&block);
            is_here && is_of_log(piece.part) && piece.seq > told
        });
    let [_, floor] = specimen.floors;
    Allowance {
        damaged: specimen.homes.get(&block).cloned().unwrap_or_default(),
        shortest: if is_last { floor } else { specimen.model.commands },
        damaged_when_shorter: specimen.ever_in(block),
        ..Allowance::default()
    }
}

pub fn is_of_log(part: Part) -> bool {
    match part {
        Part::Header(stream)
        | Part::Record(stream)
        | Part::Table(stream)
        | Part::Padding(stream)
        | Part::Footer(stream) => stream != Stream::Map,
        Part::Superblock(_) | Part::Node | Part::Dictionary | Part::Parity | Part::Root => false,
    }
}

/// The highest number that a chunk or footer of the log, or the checkpoint, tells to be durable,
/// but those in bad blocks.
pub fn told_durable(specimen: &Specimen, bad: &[u64]) -> u64 {
    let told = specimen.pieces.iter().filter_map(|piece| {
        let header = match piece.part {
            Part::Header(stream) if stream != Stream::Map => piece.range.start,
            Part::Footer(stream) if stream != Stream::Map => piece.range.end - 72,
            _ => return None,
        };
        let is_bad = bad.contains(&(header / 4096));
        (!is_bad).then(|| u64_at(&specimen.image, header as usize + 40))
    });
    told.fold(specimen.checkpoint_seq(), u64::max)
}

/// The cases to run, of each kind of structure some or all blocks, and the kinds of structure that
/// they damage: `None` for blocks in which none lies.
fn cases() -> (Vec<Case>, BTreeSet<Option<Part>>) {
    let is_all = std::env::var("ASSAY_SWEEP").is_ok_and(|what| what == "all");
    let (mut cases, mut damaged, mut turn) = (Vec::new(), BTreeSet::new(), 0);
    for specimen in Specimen::all() {
        let parts = specimen.parts();
        let mut kinds = BTreeMap::<Option<Part>, Vec<u64>>::new();
        for block in 0..specimen.media_blocks() {
            let here = parts.get(&block);
            // Small ones are seldom first in their block.
            let first = here.and_then(|pieces| pieces.iter().map(|piece| piece.part).min());
            kinds.entry(first).or_default().push(block);
            if let Some(pieces) = here.filter(|_| !is_all) {
                let others =
                    pieces.iter().map(|piece| piece.part).filter(|part| Some(*part) != first);
                others.for_each(|part| kinds.entry(Some(part)).or_default().push(block));
            }
        }
        let mut random = Random::new(11);
        for (part, mut blocks) in kinds {
            while !is_all && blocks.len() > OF_A_KIND {
                blocks.swap_remove(random.below(blocks.len() as u64) as usize);
            }
            for block in blocks {
                match parts.get(&block) {
                    Some(pieces) => damaged.extend(pieces.iter().map(|piece| Some(piece.part))),
                    None => damaged.extend([None]),
                }
                let scars = [Scar::Flipped(block), Scar::Zeroed, Scar::Unreadable, Scar::Dead];
                let scarred = scars.map(|scar| Case { specimen, block, scar, part });
                // One of the four in turn, or all of them.
                let (first, some) = if is_full() || is_all { (0, 4) } else { (turn % 4, 1) };
                cases.extend(scarred.into_iter().skip(first).take(some));
                turn += 1;
            }
        }
    }
    (cases, damaged)
}

fn judge(number: usize, case: &Case) -> Result<Ran, String> {
    let allowance = allowance(case.specimen, case.block);
    let seed = number as u64;
    let work = || run(case.specimen, &[(case.block, case.scar)], &allowance, seed);
    let ran = std::panic::catch_unwind(AssertUnwindSafe(work));
    let ran = ran.unwrap_or_else(|_| Err("it panics".into()));
    ran.map_err(|problem| {
        let Case { specimen, block, scar, part } = case;
        format!(
            "case {number}: {}: block {block}, {part:?}, {scar:?}: {problem:.600}",
            specimen.name
        )
    })
}

#[test]
fn one_bad_place_costs_what_lay_in_it_and_nothing_else() {
    let began = Instant::now();
    let (all, kinds) = cases();
    assert!(kinds.len() >= 22, "not every structure is there to be damaged: {kinds:?}");
    let only = std::env::var("ASSAY_CASE").ok().and_then(|number| number.parse::<usize>().ok());
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut judged = Vec::new();
        loop {
            let done = next.fetch_add(1, Ordering::Relaxed);
            // Those of all specimens in turn.
            let number = done % SPREAD * all.len().div_ceil(SPREAD) + done / SPREAD;
            if done >= SPREAD * all.len().div_ceil(SPREAD) {
                return judged;
            }
            if done % 5000 == 4999 {
                eprintln!(
                    "{} of {} cases, {:.0} s",
                    done + 1,
                    all.len(),
                    began.elapsed().as_secs_f64()
                );
            }
            let Some(case) = all.get(number) else { continue };
            if only.is_none_or(|only| only == number) {
                judged.push((case, judge(number, case)));
            }
        }
    };
    let judged: Vec<_> = std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let cases = judged.len();
    let mut seen = BTreeMap::<(Option<Part>, &str, Outcome), u64>::new();
    let mut totals = BTreeMap::<(Ending, Outcome), u64>::new();
    let (mut problems, mut gc_segments, mut restored, mut quarantined) = (Vec::new(), 0, 0, 0);
    let (mut damaged, mut rebuilt) = (0, 0);
    for (case, judged) in judged {
        match judged {
            Ok(ran) => {
                *seen.entry((case.part, name_of(case.scar), ran.outcome)).or_default() += 1;
                *totals.entry((case.specimen.ending, ran.outcome)).or_default() += 1;
                gc_segments += ran.gc_segments;
                damaged = ran.damaged.max(damaged);
                rebuilt += u64::from(ran.is_rebuilt);
                restored += u64::from(ran.restored > 0);
                quarantined += u64::from(ran.quarantined > 0);
            }
            Err(problem) => problems.push(problem),
        }
    }
    for (kind, count) in &seen {
        println!("{kind:?}: {count}");
    }
    println!("{totals:?}");
    println!(
        "{cases} cases in {:.0} s, {} problems; {gc_segments} segments collected; \
         parts of the map restored in {restored} cases, \
         segments taken out of use in {quarantined}, \
         maps rebuilt in {rebuilt}; {damaged} blocks of the host's at most could not be read",
        began.elapsed().as_secs_f64(),
        problems.len()
    );
    let few = &problems[..problems.len().min(30)];
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), few.join("\n"));
    if only.is_none() {
        assert!(gc_segments > cases as u64, "hardly anything was collected: {gc_segments}");
        // Collection comes by few of the dead places that are tried once.
        assert!(restored > 0 && (quarantined > 0 || !is_full()), "{restored}, {quarantined}");
    }
}

fn name_of(scar: Scar) -> &'static str {
    match scar {
        Scar::Flipped(_) => "flipped",
        Scar::Zeroed => "zeroed",
        Scar::Unreadable => "unreadable until written",
        Scar::Dead => "unreadable for ever",
    }
}
