//! Comparisons whose p values are corrected together, and their verdicts.
//!
//! Guarantees: of the comparisons that a plan asks for, any direction is false in at most 5 % of
//! studies (Holm). Of all others, and of a plan that asks for none, at most 5 % of the directions
//! in the report are false on average; if nothing differs, at most 5 % of studies report one
//! (Benjamini and Hochberg).

use serde::Serialize;

use crate::difference::comparison::{JudgedComparison, Undecided};
use crate::difference::looks::Look;
use crate::difference::verdict::{ALPHA, Conclusion};
use crate::statistics::{benjamini_hochberg, holm};

/// How p was corrected, and over how many comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Correction {
    /// A comparison by itself.
    None,
    /// p after Holm: of comparisons that were asked for.
    Holm { comparisons: usize },
    /// Benjamini's and Hochberg's q.
    BenjaminiHochberg { comparisons: usize },
}

impl Correction {
    /// Comparisons that were corrected together.
    pub fn comparisons(self) -> Option<usize> {
        match self {
            Correction::None => None,
            Correction::Holm { comparisons } | Correction::BenjaminiHochberg { comparisons } => {
                Some(comparisons)
            }
        }
    }
}

/// How many of some comparisons point somewhere, and how many would by chance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ChanceTally {
    /// Comparisons with a p.
    pub comparisons: usize,
    /// Those whose p, uncorrected, is at most 5 %.
    pub surprising: usize,
    /// So many would be if nothing differed.
    pub by_chance: f64,
    /// Those that stay after the correction.
    pub told: usize,
}

/// A comparison's family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Member {
    /// The plan asks for it.
    Asked,
    /// It stands for a pair of a plan that asks for none.
    Unasked,
    /// It goes into details: of another metric, or a single thread count.
    Detail,
}

/// Decides these, corrected by family, at this look.
pub(crate) fn decided(
    all: Vec<Undecided>,
    members: &[Member],
    look: &Look,
) -> Vec<JudgedComparison> {
    let all: Vec<Undecided> = all.into_iter().map(|one| one.at(look)).collect();
    let size_of = |family: Member| {
        let its = all.iter().zip(members).filter(|(one, its)| **its == family && one.has_p());
        its.count()
    };
    let [asked, unasked, details] = [Member::Asked, Member::Unasked, Member::Detail].map(|one| {
        let size = size_of(one);
        corrected(&all, members, one, size)
    });
    let mut corrected: Vec<(Option<f64>, Correction)> = vec![(None, Correction::None); all.len()];
    for (place, found) in asked.into_iter().chain(unasked).chain(details) {
        corrected[place] = found;
    }
    let mut judged: Vec<JudgedComparison> =
        all.into_iter().zip(corrected).map(|(one, (p, by))| one.decided(p, by)).collect();
    weigh_against_parts(&mut judged);
    judged
}

/// The corrected p of the members of a family, each with its place.
fn corrected(
    all: &[Undecided],
    members: &[Member],
    family: Member,
    size: usize,
) -> Vec<(usize, (Option<f64>, Correction))> {
    let its = || (0..all.len()).filter(|place| members[*place] == family && all[*place].has_p());
    let raw: Vec<f64> = its().filter_map(|place| all[place].p(size)).collect();
    let (corrected, by) = match family {
        Member::Asked => (holm(&raw), Correction::Holm { comparisons: size }),
        _ => (benjamini_hochberg(&raw), Correction::BenjaminiHochberg { comparisons: size }),
    };
    its().zip(corrected).map(|(place, p)| (place, (Some(p), by))).collect()
}

/// Corrects all together after Holm: they were all asked for.
pub(crate) fn all_asked(all: Vec<Undecided>, look: &Look) -> Vec<JudgedComparison> {
    let members = vec![Member::Asked; all.len()];
    decided(all, &members, look)
}

/// Takes back verdicts over all thread counts that single ones contradict.
fn weigh_against_parts(judged: &mut [JudgedComparison]) {
    let is_part = |part: &JudgedComparison, whole: &JudgedComparison| {
        part.threads.is_some() && part.metric == whole.metric && part.is_of_same_pair(whole)
    };
    let wholes = (0..judged.len()).filter(|place| judged[*place].threads.is_none());
    for place in wholes.collect::<Vec<_>>() {
        let whole = &judged[place];
        let parts = judged.iter().filter(|part| is_part(part, whole));
        let each: Vec<(u32, Conclusion)> =
            parts.filter_map(|one| Some((one.threads?, one.verdict.conclusion))).collect();
        judged[place].verdict = judged[place].verdict.clone().beside(&each);
    }
}

impl ChanceTally {
    /// The tally of these; `None` if none has a p.
    pub fn of<'a>(all: impl Iterator<Item = &'a JudgedComparison>) -> Option<ChanceTally> {
        let with_p: Vec<(&JudgedComparison, f64)> =
            all.filter_map(|one| Some((one, one.p?))).collect();
        (!with_p.is_empty()).then(|| ChanceTally {
            comparisons: with_p.len(),
            surprising: with_p.iter().filter(|(_, p)| *p <= ALPHA).count(),
            by_chance: ALPHA * with_p.len() as f64,
            told: with_p.iter().filter(|(one, _)| one.verdict.conclusion.has_direction()).count(),
        })
    }
}
