//! Effects of factors in `results.json`.

use std::collections::BTreeSet;

use assay_judge::{
    BytesEffect, Conclusion, CrossCell, CrossedFactor, Effect, Effects, Interaction, Metric,
    SimpleEffect,
};
use assay_study::Events;
use serde::Serialize;

use super::judgement::DifferenceView;
use crate::words::{effects, reason, steps, verdict};

/// The effects of the factors of a full cross.
#[derive(Debug, Serialize)]
pub(super) struct EffectsView<'a> {
    workload: &'a str,
    threads: &'a BTreeSet<u32>,
    /// Whether the plan names the factors.
    is_planned: bool,
    factors: &'a [CrossedFactor],
    cells: &'a [CrossCell],
    main: Vec<EffectView<'a>>,
    interactions: Vec<InteractionView<'a>>,
    bytes: Vec<BytesView<'a>>,
}

impl<'a> EffectsView<'a> {
    pub(super) fn of(all: &'a Effects) -> EffectsView<'a> {
        let cross = &all.cross;
        EffectsView {
            workload: &cross.workload,
            threads: &cross.threads,
            is_planned: cross.is_planned,
            factors: &cross.factors,
            cells: &cross.cells,
            main: all
                .main
                .iter()
                .map(|one| EffectView { text: effects::text(all, one), ..EffectView::of(one) })
                .collect(),
            interactions: all.interactions.iter().map(InteractionView::of).collect(),
            bytes: all.bytes.iter().map(BytesView::of).collect(),
        }
    }
}

/// The effect of a level of a factor.
#[derive(Debug, Serialize)]
struct EffectView<'a> {
    factor: &'a str,
    against: &'a str,
    level: &'a str,
    threads: Option<u32>,
    metric: Metric,
    difference: Option<DifferenceView>,
    p_corrected: Option<f64>,
    verdict: Conclusion,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
}

impl<'a> EffectView<'a> {
    fn of(one: &'a Effect) -> EffectView<'a> {
        let judged = &one.judged;
        EffectView {
            factor: &one.factor,
            against: &judged.baseline,
            level: &judged.config,
            threads: judged.threads,
            metric: judged.metric,
            difference: judged.difference.as_ref().map(DifferenceView::of),
            p_corrected: judged.p_corrected,
            verdict: judged.verdict.conclusion,
            text: verdict::text_with_word(judged),
            because: reason::because(Events::Transactions, judged),
        }
    }
}

#[derive(Debug, Serialize)]
struct InteractionView<'a> {
    factors: &'a [String; 2],
    against: &'a [String; 2],
    levels: &'a [String; 2],
    threads: Option<u32>,
    metric: Metric,
    ratio: f64,
    ratio_interval: Option<(f64, f64)>,
    p_corrected: Option<f64>,
    /// Whether the effects are known to depend on each other.
    is_there: bool,
    text: String,
    simple: Vec<SimpleView<'a>>,
}

impl<'a> InteractionView<'a> {
    fn of(one: &'a Interaction) -> InteractionView<'a> {
        InteractionView {
            factors: &one.factors,
            against: &one.against,
            levels: &one.levels,
            threads: one.threads,
            metric: one.metric,
            ratio: one.ratio,
            ratio_interval: one.interval,
            p_corrected: one.p_corrected,
            is_there: one.is_there(),
            text: effects::interaction(one),
            simple: one.simple.iter().map(SimpleView::of).collect(),
        }
    }
}

/// An effect where another factor has one level.
#[derive(Debug, Serialize)]
struct SimpleView<'a> {
    at_factor: &'a str,
    at_level: &'a str,
    #[serde(flatten)]
    effect: EffectView<'a>,
}

impl<'a> SimpleView<'a> {
    fn of(one: &'a SimpleEffect) -> SimpleView<'a> {
        SimpleView {
            at_factor: &one.at_factor,
            at_level: &one.at_level,
            effect: EffectView::of(&one.effect),
        }
    }
}

#[derive(Debug, Serialize)]
struct BytesView<'a> {
    factor: &'a str,
    against: &'a str,
    level: &'a str,
    ratio: f64,
    ratio_interval: Option<(f64, f64)>,
    to: &'static str,
}

impl<'a> BytesView<'a> {
    fn of(one: &'a BytesEffect) -> BytesView<'a> {
        BytesView {
            factor: &one.factor,
            against: &one.against,
            level: &one.level,
            ratio: one.taken.ratio,
            ratio_interval: one.taken.interval,
            to: steps::bytes_to(one.taken),
        }
    }
}
