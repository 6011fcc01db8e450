//! The borrowed view of an analysis that every room of the page is handed.

use std::collections::BTreeMap;

use assay_judge::Judgement;
use assay_judge::summary::RepeatGroup;
use assay_study::Study;

use crate::analysis::Analysis;

/// Sets of server variables seen in each configuration.
pub(crate) type Variables = [Vec<BTreeMap<String, String>>];

/// A judged study with its runs grouped over the repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) study: &'a Study,
    pub(crate) groups: &'a [RepeatGroup<'a>],
    pub(crate) judgement: &'a Judgement,
    pub(crate) analysis: &'a Analysis,
    pub(crate) variables: &'a Variables,
}

impl<'a> Input<'a> {
    pub(crate) fn of(analysis: &'a Analysis, groups: &'a [RepeatGroup<'a>]) -> Input<'a> {
        Input {
            study: &analysis.study,
            groups,
            judgement: &analysis.judgement,
            analysis,
            variables: &analysis.variables,
        }
    }
}
