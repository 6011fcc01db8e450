//! One flipped bit in each kind of structure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, State};

use assay_testing::{count, is_full};

use super::specimen::{Ending, Life, Specimen, options};
use super::verdict::{Outcome, judge, read_all};
use crate::common::anatomy::{Part, Piece, Stream, pieces};
use crate::common::random::Random;

use Outcome::{Corrupt, ReadOnly, Shorter, Told, Unnoticed};

/// Flips in pieces of the same kind, at most, for one specimen.
fn flips_of_a_kind() -> usize {
    count(1, 20)
}

/// Possible outcomes of a flipped bit; those that must occur at least once come first.
fn expected(part: Part, ending: Ending) -> (&'static [Outcome], &'static [Outcome]) {
    let is_closed = ending == Ending::Closed;
    match part {
        Part::Superblock(_) => (&[Told], &[]),
        // Parity makes them whole, and that is told where they are needed.
        Part::Root | Part::Node => (&[Unnoticed], &[Told]),
        // Behind the checkpoint it is the log, and the next chunk tells what it held: of the last
        // one nothing tells that it was ever whole. Before the checkpoint it serves nobody as long
        // as the footer is whole. Where the next one is torn by the power cut, two are gone.
        Part::Header(_) | Part::Table(_) if ending == Ending::Torn => {
            (&[], &[Unnoticed, Told, Corrupt, Shorter, ReadOnly])
        }
        Part::Header(_) | Part::Table(_) if !is_closed => (&[Unnoticed], &[Told, Corrupt, Shorter]),
        // Its chunks and the next segment tell the same; at the torn end of the log nothing tells
        // that it was ever whole.
        Part::Footer(Stream::Host) if ending == Ending::Torn => (&[Told, Unnoticed], &[Shorter]),
        Part::Footer(Stream::Host) if !is_closed => (&[Told, Unnoticed], &[]),
        Part::Footer(_) if !is_closed => (&[], &[Unnoticed, Told]),
        Part::Header(_) | Part::Table(_) => (&[Unnoticed], &[]),
        Part::Footer(_) => (&[], &[Told, Unnoticed]),
        Part::Record(Stream::Map) | Part::Dictionary => (&[], &[]),
        Part::Record(_) => (&[Corrupt, Unnoticed], &[Shorter]),
        // They are there for when something else is damaged.
        Part::Padding(_) | Part::Parity => (&[Unnoticed], &[]),
    }
}

type Seen = BTreeMap<(Part, bool), BTreeMap<Outcome, u64>>;

/// The pieces to damage, some of each kind.
pub fn chosen(specimen: &Specimen) -> Vec<Piece> {
    let mut random = Random::new(7);
    let mut kinds = BTreeMap::<Part, Vec<Piece>>::new();
    for piece in pieces(&specimen.media.image()) {
        kinds.entry(piece.part).or_default().push(piece);
    }
    let some_of = |mut kind: Vec<Piece>| {
        while kind.len() > flips_of_a_kind() {
            kind.swap_remove(random.below(kind.len() as u64) as usize);
        }
        kind
    };
    kinds.into_values().flat_map(some_of).collect()
}

/// Flips a bit in a piece and judges what is left.
fn flip(specimen: &Specimen, piece: &Piece, seed: u64, baseline: u64) -> Result<Outcome, String> {
    let mut random = Random::new(seed);
    let bit = 8 * piece.range.start + random.below(8 * (piece.range.end - piece.range.start));
    let media = specimen.media.copy();
    media.flip(bit);
    let about = |problem| format!("{}: bit {bit} of {piece:?}: {problem}", specimen.name);
    let (outcome, prefix) = judge(Arc::new(media), &specimen.model).map_err(about)?;
    let is_shorter = prefix < baseline && outcome < Shorter;
    let outcome = if is_shorter { Shorter } else { outcome };
    let (must, may) = expected(piece.part, specimen.ending);
    if must.contains(&outcome) || may.contains(&outcome) {
        Ok(outcome)
    } else {
        Err(about(format!("it came to {outcome:?}")))
    }
}

/// Flips a bit in some pieces of each kind; says what each came to, and what went wrong.
fn flip_each(specimen: &Specimen, problems: &mut Vec<String>) -> Vec<(Part, Outcome)> {
    let baseline = baseline(specimen);
    let pieces = chosen(specimen);
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut judged = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(number) else { return judged };
            judged.push((piece.part, flip(specimen, piece, number as u64, baseline)));
        }
    };
    let judged: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let mut outcomes = Vec::new();
    for (part, outcome) in judged {
        match outcome {
            Ok(outcome) => outcomes.push((part, outcome)),
            Err(problem) => problems.push(problem),
        }
    }
    outcomes
}

/// The prefix that a specimen holds without damage.
pub fn baseline(specimen: &Specimen) -> u64 {
    let judged = judge(Arc::new(specimen.media.copy()), &specimen.model);
    let (outcome, prefix) = judged.unwrap_or_else(|problem| panic!("{}: {problem}", specimen.name));
    // A torn superblock is told.
    assert!(outcome <= Told, "{}: undamaged, it is {outcome:?}", specimen.name);
    prefix
}

#[test]
fn a_flipped_bit_is_told_where_it_matters_and_never_read_as_data() {
    let (mut seen, mut problems) = (Seen::new(), Vec::new());
    for specimen in Specimen::all() {
        let is_closed = specimen.ending == Ending::Closed;
        for (part, outcome) in flip_each(specimen, &mut problems) {
            *seen.entry((part, is_closed)).or_default().entry(outcome).or_default() += 1;
        }
    }
    for (kind, outcomes) in &seen {
        println!("(part, closed) {kind:?}: {outcomes:?}");
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    // Few flips of a kind come to all that flips of that kind may come to, but all flips together
    // do.
    for must in [Unnoticed, Told, Corrupt] {
        assert!(seen.values().any(|outcomes| outcomes.contains_key(&must)), "never {must:?}");
    }
    for ((part, is_closed), outcomes) in seen.iter().filter(|_| is_full()) {
        let ending = if *is_closed { Ending::Closed } else { Ending::Flushed };
        for must in expected(*part, ending).0 {
            assert!(outcomes.contains_key(must), "{part:?} never came to {must:?}: {outcomes:?}");
        }
    }
    assert!(seen.len() >= 30, "not every structure was there to be damaged: {:?}", seen.keys());
}

/// A drive with damaged records goes on working: collection leaves them where they are, and what is
/// written anew is read.
#[test]
fn a_damaged_drive_works_on_and_heals_where_it_is_written() {
    for seed in 0..count(2, 6) {
        let (codec, units) = [(Codec::None, false), (Codec::Zstd, true)][seed as usize % 2];
        let specimen = Specimen::new(codec, units, Ending::Closed, seed);
        let media = Arc::new(specimen.media.copy());
        let mut records = pieces(&media.image());
        // In a few segments: each may cost its whole place.
        let few = (1 << 20)..(5 << 20);
        let is_one = |piece: &Piece| matches!(piece.part, Part::Record(_));
        records.retain(|piece| is_one(piece) && few.contains(&piece.owner));
        let mut random = Random::new(seed);
        for _ in 0..150 {
            media.flip(8 * random.pick(&records).range.start + random.below(40));
        }
        let drive = Drive::open(media.clone(), options()).unwrap();
        let damaged = read_all(&drive, &specimen.model).unwrap().corrupt;
        assert!(damaged.len() > 20, "hardly anything is damaged: {}", damaged.len());
        let mut life = Life { drive, model: specimen.model, random };
        life.work(150);
        let block = *damaged.first().unwrap();
        let data = life.model.write(block, 1);
        life.drive.write(block * BLOCK_BYTES, &data, true).unwrap();
        life.rest();
        life.drive.close().unwrap();
        let drive = Drive::open(media, options()).unwrap();
        let left = read_all(&drive, &life.model).unwrap();
        life.model.prefixes(&left.contents, life.model.commands).unwrap();
        assert!(left.corrupt.is_subset(&damaged), "damage spread");
        assert!(!left.corrupt.contains(&block), "what was overwritten is still damaged");
        assert!(left.corrupt.is_empty() || drive.status().state == State::Damaged);
    }
}
