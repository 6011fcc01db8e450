//! Reasons to distrust a figure beside a paper's.

use serde::Serialize;

use assay_base::text::counted;
use assay_judge::paper::{Compared, ComparedRow, ComparisonRemark, Counters, Direction, Missing};
use assay_judge::papers::RelativeDifferences;

/// The remarks of a row, one by one, that it opposes the paper first.
pub fn remarks(row: &ComparedRow) -> Vec<String> {
    let opposes = row.direction == Some(Direction::Opposite);
    let opposes = opposes.then(|| "the opposite of what is printed".to_owned());
    opposes.into_iter().chain(row.remarks.iter().map(remark)).collect()
}

fn remark(remark: &ComparisonRemark) -> String {
    match remark {
        ComparisonRemark::RunOnNeither => "neither runs on it".into(),
        ComparisonRemark::RunOnlyOn(config) => format!("only {config} runs on it"),
        ComparisonRemark::LeftOut { threads, config, why } => {
            let threads = counted(u64::from(*threads), "thread");
            format!("{threads} left out: {config} {}", missing(why))
        }
        ComparisonRemark::Flagged { flagged, trials } => {
            format!("{flagged} of {} flagged", counted(*trials as u64, "run"))
        }
    }
}

fn missing(why: &Missing) -> String {
    match why {
        Missing::NotPlanned => "does not run with that many".into(),
        Missing::NoResult(metric) => format!("has no {metric}"),
        Missing::Failed => "failed".into(),
        Missing::NotRun => "was not run yet".into(),
    }
}

/// A comparison as JSON has it.
#[derive(Debug, Serialize)]
pub struct ComparedView<'a> {
    table: &'a str,
    metric: &'a str,
    config: &'a str,
    against: &'a str,
    rows: Vec<RowView<'a>>,
}

#[derive(Debug, Serialize)]
struct RowView<'a> {
    data_profile: Option<&'a str>,
    workload: &'a str,
    measured: Option<&'a RelativeDifferences>,
    printed_percent: Option<f64>,
    printed_says: Option<&'a str>,
    direction: Option<Direction>,
    counters: Option<&'a [Counters; 2]>,
    remarks: Vec<String>,
}

/// Comparisons as JSON has them.
pub fn view(all: &[Compared]) -> Vec<ComparedView<'_>> {
    all.iter().map(of_comparison).collect()
}

fn of_comparison(one: &Compared) -> ComparedView<'_> {
    ComparedView {
        table: &one.table,
        metric: &one.metric,
        config: &one.config,
        against: &one.against,
        rows: one.rows.iter().map(of_row).collect(),
    }
}

fn of_row(row: &ComparedRow) -> RowView<'_> {
    RowView {
        data_profile: row.data_profile.as_deref(),
        workload: &row.workload,
        measured: row.measured.as_ref(),
        printed_percent: row.printed_percent,
        printed_says: row.printed_says.as_deref(),
        direction: row.direction,
        counters: row.counters.as_ref(),
        remarks: remarks(row),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_remark_names_what_it_is_about() {
        let left_out =
            |why| remark(&ComparisonRemark::LeftOut { threads: 4, config: "csd".into(), why });
        assert_eq!(left_out(Missing::Failed), "4 threads left out: csd failed");
        assert_eq!(
            left_out(Missing::NotPlanned),
            "4 threads left out: csd does not run with that many"
        );
        assert_eq!(left_out(Missing::NotRun), "4 threads left out: csd was not run yet");
        let none = Missing::NoResult("tps".into());
        assert_eq!(left_out(none), "4 threads left out: csd has no tps");
        assert_eq!(remark(&ComparisonRemark::RunOnlyOn("csd".into())), "only csd runs on it");
        assert_eq!(remark(&ComparisonRemark::RunOnNeither), "neither runs on it");
        assert_eq!(
            remark(&ComparisonRemark::Flagged { flagged: 1, trials: 1 }),
            "1 of 1 run flagged"
        );
    }
}
