//! Runs of two studies compared.
//!
//! Guarantees: the unit is the day. Repeats of one session share the machine as it was that day and
//! the tables as they were loaded, so however many there are, they do not show how another day
//! would differ; two studies with two days each and more do. Without them the difference is one of
//! the runs there are ([`Basis::SeparateRuns`]), on which no verdict rests.

use crate::difference::compare::{
    Basis, ComparedRuns, Difference, carried_over, mean_of, resolved, single, told,
};
use crate::difference::noise::NoiseSpread;
use crate::difference::permute::{Permutation, Units};
use crate::statistics::{MeanVariance, Spread, exchange, mean, unpaired};
use crate::trial::figure::RunFigure;
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;
use assay_study::Day;

/// Figures of one side at one thread count, each with its repeat.
type Figures = Vec<(u32, RunFigure)>;

/// The runs of both studies by thread count.
struct Separate<'a> {
    strata: Vec<[Figures; 2]>,
    days: [&'a [Day]; 2],
}

/// Compares runs of two studies that were made on these days.
pub fn between_studies(
    metric: Metric,
    strata: &[ComparedRuns<'_>],
    days: [&[Day]; 2],
    noise: Option<&NoiseSpread>,
    seed: u64,
) -> Option<Difference> {
    let figures = |trials: &[&Measured]| -> Figures {
        let its = trials.iter();
        its.filter_map(|trial| Some((trial.key.repeat, trial.figure(metric)?))).collect()
    };
    let strata = strata.iter().map(|one| [figures(&one.base), figures(&one.other)]).collect();
    let runs = Separate { strata, days };
    runs.of_days(seed).or_else(|| runs.of_these_runs(noise))
}

impl Separate<'_> {
    /// From what varies between days; `None` where one study has fewer than two.
    fn of_days(&self, seed: u64) -> Option<Difference> {
        let sides = |of: fn(&RunFigure) -> f64| [0, 1].map(|side| self.by_day(side, of));
        let (values, logs) = (sides(|figure| figure.value), sides(|figure| figure.value.ln()));
        let log = unpaired(&logs[0], &logs[1])?;
        let plain = unpaired(&values[0], &values[1])?;
        let permutation = exchange(&logs[0], &logs[1], seed).map(|permuted| Permutation {
            of: Units::DaysOfBothStudies,
            units: logs[0].len() + logs[1].len(),
            permuted,
        });
        let levels = [0, 1].map(|side| mean(&values[side]));
        let [log, plain] = resolved(&log, &plain, self.resolution(), levels);
        let days = logs[0].len().min(logs[1].len());
        // What a day does to one thread count it does to all, so they are no more units than one.
        Some(told(levels, &log, &plain, Basis::SeparateSessions, [days, 1], permutation))
    }

    /// A side's mean over thread counts of each day that has runs at all of them.
    fn by_day(&self, side: usize, of: fn(&RunFigure) -> f64) -> Vec<f64> {
        let on = |day: &Day| -> Option<f64> {
            let of_stratum = |stratum: &[Figures; 2]| {
                let its = stratum[side].iter().filter(|(repeat, _)| day.has(*repeat));
                let values: Vec<f64> = its.map(|(_, figure)| of(figure)).collect();
                (!values.is_empty()).then(|| mean(&values))
            };
            let means: Option<Vec<f64>> = self.strata.iter().map(of_stratum).collect();
            means.filter(|means| !means.is_empty()).map(|means| mean(&means))
        };
        self.days[side].iter().filter_map(on).collect()
    }

    /// From what varies between the repeats that there are, or between seconds where one side has a
    /// single repeat.
    fn of_these_runs(&self, noise: Option<&NoiseSpread>) -> Option<Difference> {
        let repeats =
            self.strata.iter().flatten().map(Vec::len).min().filter(|repeats| *repeats > 0)?;
        let levels = [0, 1].map(|side| self.mean(side, |figure| figure.value));
        let of_repeats = self.spread(|f| f.value.ln()).zip(self.spread(|f| f.value));
        let (log, plain) = match of_repeats {
            Some(both) => both,
            None => {
                let runs: Vec<[RunFigure; 2]> =
                    self.strata.iter().map(|[a, b]| [as_one(a), as_one(b)]).collect();
                let (log, _) = single(runs.iter(), noise)?;
                (log, carried_over(&log, levels[1] - levels[0], levels))
            }
        };
        let [log, plain] = resolved(&log, &plain, self.resolution(), levels);
        let counts = [repeats, self.strata.len()];
        Some(told(levels, &log, &plain, Basis::SeparateRuns, counts, None))
    }

    /// The mean over thread counts with the variation between repeats; `None` where one side has a
    /// single one.
    fn spread(&self, of: fn(&RunFigure) -> f64) -> Option<Spread> {
        let of_stratum = |[a, b]: &[Figures; 2]| {
            let values = |its: &Figures| its.iter().map(|(_, f)| of(f)).collect::<Vec<f64>>();
            unpaired(&values(a), &values(b))
        };
        let spreads: Option<Vec<Spread>> = self.strata.iter().map(of_stratum).collect();
        spreads.map(|spreads| mean_of(&spreads))
    }

    /// A side's mean over thread counts and repeats.
    fn mean(&self, side: usize, of: fn(&RunFigure) -> f64) -> f64 {
        let of_stratum = |stratum: &[Figures; 2]| {
            mean(&stratum[side].iter().map(|(_, figure)| of(figure)).collect::<Vec<f64>>())
        };
        mean(&self.strata.iter().map(of_stratum).collect::<Vec<f64>>())
    }

    fn resolution(&self) -> f64 {
        mean(&[0, 1].map(|side| self.mean(side, |figure| figure.resolution)))
    }
}

/// The geometric mean of runs as if it were one run's figure.
fn as_one(figures: &Figures) -> RunFigure {
    let n = figures.len() as f64;
    let logs: Vec<f64> = figures.iter().map(|(_, one)| one.value.ln()).collect();
    let known: Option<Vec<MeanVariance>> = figures.iter().map(|(_, one)| one.within).collect();
    let within = known.map(|all| MeanVariance {
        variance: all.iter().map(|one| one.variance).sum::<f64>() / (n * n),
        df: all.iter().map(|one| one.df).sum(),
    });
    let resolution = mean(&figures.iter().map(|(_, one)| one.resolution).collect::<Vec<f64>>());
    RunFigure { value: mean(&logs).exp(), within, resolution }
}
