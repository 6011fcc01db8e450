//! What every part of the page is made of.

use std::collections::BTreeMap;

use assay_judge::Judgement;
use assay_judge::summary::Group;
use assay_study::Study;

use super::judged::Judged;
use super::second::Template;
use super::series::Embedded;
use crate::beside::Standing;

/// Response times of transactions of each run, by its number in the store.
pub(super) type Distributions = BTreeMap<i64, Vec<(u64, u64)>>;

/// All that a page is made of.
pub(super) struct Input<'a> {
    /// What the page is called.
    pub(super) title: &'a str,
    /// Notes of the person who sends it, as safe HTML.
    pub(super) notes: Option<String>,
    /// Response times of the runs' transactions.
    pub(super) distributions: &'a Distributions,
    /// The study.
    pub(super) study: &'a Study,
    /// Its runs taken together over the repeats.
    pub(super) groups: &'a [Group<'a>],
    /// What was measured beside what a paper printed.
    pub(super) compared: &'a [assay_judge::paper::Compared],
    /// How it stands to what papers print.
    pub(super) claims: &'a Standing,
    /// What the judge made of it.
    pub(super) judged: &'a Judged,
    /// Its verdicts.
    pub(super) judgement: &'a Judgement,
    /// For each configuration, the distinct sets of server variables.
    pub(super) variables: &'a [Vec<BTreeMap<String, String>>],
    /// Charts of the second-by-second page.
    pub(super) second_charts: Vec<Template>,
    /// Series of all runs, coded.
    pub(super) series: Embedded,
}
