//! From series to verdicts: of every difference between configurations how large it is, within what
//! bounds, and what may be said of it. All of it is values; `words` makes sentences of them where
//! they are shown.
//!
//! Pure functions over stored records; only [`judgement`] and [`trial::measured`] read a store, and
//! nothing asks the machine. What is not known is absent and never zero.

mod appraisal;
pub mod delivered;
mod difference;
pub mod durability;
mod expectation;
pub mod interval;
mod judgement;
pub mod paper;
pub mod papers;
mod phases;
pub mod power_cuts;
pub mod reconcile;
mod searches;
pub mod sharing;
mod statistics;
pub mod summary;
mod trial;
pub mod worth;
pub mod write_path;

pub use appraisal::{Appraisal, Supplied};
pub use difference::alike::{CutsOfSide, Unlike, scale_differences};
pub use difference::chain::{Chain, Step};
pub use difference::circumstances::{Circumstance, Form, Value, circumstances};
pub use difference::compare::{Basis, Difference};
pub use difference::comparison::{JudgedComparison, baseline_of};
pub use difference::cross::{Cross, CrossCell, CrossedFactor};
pub use difference::days::ByDay;
pub use difference::effects::{BytesEffect, Effect, Effects, Interaction, SimpleEffect};
pub use difference::exclusions::{Exclusions, SideExclusions, UnevenLoss};
pub use difference::family::{ChanceTally, Correction};
pub use difference::level::ThroughputLevel;
pub use difference::looks::Look;
pub use difference::noise::{NoiseFloor, Seen};
pub use difference::orders::{OrderRange, OverOrders};
pub use difference::pairs::{Pair, Side, of_interest};
pub use difference::permute::Units;
pub use difference::reason::{Reason, SignificanceTest};
pub use difference::starts::Starts;
pub use difference::studies::{Between, Chosen, Lone, between, configs, lone};
pub use difference::taken::Taken;
pub use difference::verdict::{Conclusion, Verdict};
pub use expectation::{Expectation, expectation};
pub use judgement::{Judgement, OfTrial, judgement, may_end};
pub use phases::{PhaseVerdicts, Phases};
pub use searches::{FoundRate, over_searches};
pub use statistics::{Permuted, Spread, median};
pub use trial::figure::{ABOVE_LEAST, Absent, SECONDS_WITH_ABOVE_LEAST, is_of_too_few};
pub use trial::measured::{CLOCK_BEGAN, is_comparable, is_slowed};
pub use trial::metric::Metric;
pub use trial::period::Period;
pub use trial::phase::OfPhase;
pub use trial::settling::Settling;
pub use trial::sound::{sound_series, sound_trial};
pub use trial::stalls::{DEPTH_LEAST, Departure, Stall, Stalls};
pub use trial::statements::Statements;
pub use trial::steady::{SECONDS_LEAST, Steadiness, Steady};

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
