//! Both sides of a comparison on the first screen: what of them may be compared, thread count by
//! thread count.

use assay_judge::{JudgedComparison, Metric};

use crate::comparisons::questions;
use crate::figures::columns;
use crate::figures::format::{figure, plural};
use crate::input::Input;
use assay_judge::summary::{RepeatGroup, RepeatStatistics};
use assay_study::Events;
use assay_study::metrics::metric;

/// More thread counts than this are not listed one by one.
const LISTED: usize = 4;

/// Figures of both sides at one thread count, in the shown unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At {
    pub(crate) threads: u32,
    /// The configuration.
    pub(crate) config: f64,
    /// The baseline.
    pub(crate) base: f64,
}

/// A configuration and its baseline under one workload, with those repeats alone that may be
/// compared.
pub(crate) struct Sides<'a> {
    names: [&'a str; 2],
    labels: [&'a str; 2],
    /// By thread count, the fewest first.
    both: Vec<[RepeatGroup<'a>; 2]>,
}

impl<'a> Sides<'a> {
    pub(crate) fn of(input: &'a Input<'a>, lead: &'a JudgedComparison) -> Sides<'a> {
        let names = [lead.config.as_str(), lead.baseline.as_str()];
        let place = |name: &str| input.study.configs.iter().position(|config| config.name == name);
        let of_side = |name: &str, workload: &str| -> Vec<RepeatGroup<'a>> {
            let is_under = |group: &RepeatGroup<'_>| {
                let its = input.study.workloads.get(group.workload);
                its.is_some_and(|one| one.name == workload)
            };
            let is_its = |one: &&RepeatGroup<'_>| Some(one.config) == place(name) && is_under(one);
            input.groups.iter().filter(is_its).filter_map(RepeatGroup::comparable).collect()
        };
        let config = of_side(names[0], &lead.workload);
        let against = lead.against_workload.as_ref().unwrap_or(&lead.workload);
        let mut base = of_side(names[1], against);
        let both = config.into_iter().filter_map(|one| {
            let same = base.iter().position(|other| other.threads == one.threads)?;
            Some([one, base.swap_remove(same)])
        });
        let mut both: Vec<[RepeatGroup<'a>; 2]> = both.collect();
        both.sort_by_key(|[config, _]| config.threads);
        let label = |name: &str| place(name).map_or("", |place| input.analysis.label(place));
        Sides { names, labels: names.map(label), both }
    }

    /// Both figures at each thread count that has them.
    pub(crate) fn figures(
        &self,
        metric: &columns::Metric<'_>,
    ) -> Vec<(u32, [RepeatStatistics; 2])> {
        let of = |[config, base]: &[RepeatGroup<'_>; 2]| {
            Some((config.threads, [metric.over(config)?, metric.over(base)?]))
        };
        self.both.iter().filter_map(of).collect()
    }

    /// Their means.
    pub(crate) fn at(&self, metric: &columns::Metric<'_>) -> Vec<At> {
        let mean = |(threads, [config, base]): (u32, [RepeatStatistics; 2])| At {
            threads,
            config: config.mean,
            base: base.mean,
        };
        self.figures(metric).into_iter().map(mean).collect()
    }

    /// Crash safety of each.
    pub(crate) fn durability(&self) -> Vec<(String, String)> {
        if self.labels[0] == self.labels[1] {
            return vec![("both".into(), self.labels[0].to_owned())];
        }
        let both = self.names.iter().zip(self.labels);
        both.map(|(name, label)| ((*name).to_owned(), label.to_owned())).collect()
    }
}

/// Figures that the judge compared at each thread count: only of the runs that its verdicts rest
/// on.
pub(crate) fn compared(parts: &[&JudgedComparison]) -> Vec<At> {
    let of = |one: &&JudgedComparison| {
        let found = one.difference.as_ref()?;
        Some(At { threads: one.threads?, config: found.value, base: found.baseline_value })
    };
    parts.iter().filter_map(of).collect()
}

/// `966 against 812 transactions/s at 32 threads`, or `1 thread: 90 against 80; 32: 966 against 812
/// transactions/s`.
pub(crate) fn told(all: &[At], unit: &str) -> String {
    let pair = |one: &At| format!("{} against {}", figure(one.config), figure(one.base));
    match all {
        [] => String::new(),
        [one] => format!("{} {unit} at {}", pair(one), plural(one.threads as usize, "thread")),
        [first, .., last] => {
            let listed: Vec<&At> =
                if all.len() <= LISTED { all.iter().collect() } else { vec![first, last] };
            let each = |(place, one): (usize, &&At)| match place {
                0 => format!("{}: {}", plural(one.threads as usize, "thread"), pair(one)),
                _ => format!("{}: {}", one.threads, pair(one)),
            };
            let text: Vec<String> = listed.iter().enumerate().map(each).collect();
            let more = match all.len() - listed.len() {
                0 => String::new(),
                count => format!("; {} between", plural(count, "thread count")),
            };
            format!("{} {unit}{more}", text.join("; "))
        }
    }
}

/// `1/s` alone does not say of what.
pub(crate) fn unit(events: Events, metric: &columns::Metric<'_>) -> String {
    match metric.name == metric!("tps").name {
        true => events.rate().into(),
        false => metric.unit(events).into(),
    }
}

/// The comparisons that one is made of: of its thread counts, or itself.
pub(crate) fn parts<'a>(
    input: &'a Input<'_>,
    one: &'a JudgedComparison,
) -> Vec<&'a JudgedComparison> {
    match one.threads {
        Some(_) => vec![one],
        None => questions::by_threads(input.judgement, one),
    }
}

/// The same of the lead's other metric.
pub(crate) fn same<'a>(
    input: &'a Input<'_>,
    lead: &JudgedComparison,
    metric: Metric,
) -> Option<&'a JudgedComparison> {
    let all = questions::whole(input.judgement, metric);
    all.into_iter().find(|one| one.is_of_same_pair(lead))
}
