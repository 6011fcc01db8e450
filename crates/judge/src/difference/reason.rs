//! Why nothing more can be said of a difference, as values: whoever shows a verdict finds the
//! words.

use crate::difference::family::Correction;
use crate::difference::looks::Look;
use crate::difference::verdict::Conclusion;
use crate::trial::figure::Absent;
use assay_study::TrialKey;

/// Why it cannot be told, or what a verdict is said of only.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// A run failed, and what a configuration cannot do is no matter of chance.
    TrialFailed(TrialKey),
    /// A run is flagged as not comparable, and too few repeats remain without it.
    TrialNotComparable(TrialKey),
    /// Runs are flagged for what their configuration may have caused, and without them something
    /// else would be said.
    DependsOnDoubtful {
        runs: Vec<TrialKey>,
        /// The conclusion from all runs.
        of_all: Conclusion,
        /// The conclusion without them.
        without: Conclusion,
        /// The ratio without them.
        ratio_without: f64,
    },
    /// No repeat has been run of both.
    NoSharedRepeat,
    /// A run has no such figure.
    FigureAbsent(TrialKey, Absent),
    /// There is one repeat, of which neither its seconds nor a configuration that ran twice tells
    /// how it varies.
    SpreadUnknown,
    /// One of two studies was made on a single day, so how its days differ is unknown.
    SeparateRuns,
    /// There is one repeat and no configuration ran twice: how runs differ is not known.
    OneRun,
    /// There is one repeat, held against the spread of a configuration that ran twice; a
    /// configuration that collects or compresses may vary more from run to run.
    OneRunAndFloor,
    /// There is one repeat, and too few differences of a configuration with itself to know how runs
    /// differ: the interval is as wide as that leaves it.
    FloorUnknown {
        /// How many there are.
        differences: u64,
    },
    /// It is within the noise floor.
    WithinFloor {
        /// Difference below which one configuration stays from itself in 95 of 100 cases, in
        /// percent.
        floor_percent: f64,
        /// Differences of a configuration with itself that this is known from: few make a floor
        /// that is high by chance.
        differences: u64,
    },
    /// Chance would make such a difference too often.
    NotSignificant {
        /// The test that was surprised less.
        test: SignificanceTest,
        /// Its p, corrected.
        p: f64,
        /// The correction, if it raised p.
        correction: Correction,
    },
    /// Power cuts took something from this configuration: what came up again is less than what was
    /// there.
    LostInPowerCuts(String),
    /// There are not two power cuts of both.
    TooFewPowerCuts,
    /// The power of one configuration was cut after that of the other, so what drifted on the
    /// machine looks like a difference.
    CutsNotInTurn,
    /// The interval of a tail lies within the margin, but rests on so few runs that a stall in one
    /// run of five may have been missed.
    StallsUnseen {
        /// Runs of each side.
        runs: u32,
        /// Probability that none of them met the stall.
        missed: f64,
        /// Runs of each side in which it is missed with 5 % at most.
        runs_needed: u32,
    },
    /// The plan does not judge after these repeats: more are to come, or were added afterwards.
    UnplannedLook(Look),
    /// The interval has both signs in it.
    IntervalHasBothSigns,
    /// One thread count points one way and another, or all of them together, the other way.
    DependsOnThreads {
        /// The conclusion over all of them.
        over_all: Conclusion,
        /// Thread counts with a direction.
        directions: Vec<(u32, Conclusion)>,
    },
}

/// A test of whether there is a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignificanceTest {
    /// Student's, whose interval is told.
    T,
    /// By permutation.
    Permutation,
}
