//! Main effects and interactions of factors: rows of the page, and `effects.csv`.

use std::io::Write;

use anyhow::Result;
use assay_judge::{BytesEffect, Effect, Effects, Interaction, Judgement, Metric, Taken};
use assay_study::Events;

use crate::tables::csv::{optional, write_row};
use crate::words::{effects, steps, verdict};

/// Columns of the page's table.
pub(crate) const HEAD: [&str; 6] = ["workload", "threads", "figure", "factor", "levels", "effect"];

/// A row an effect over all thread counts, then interactions with the effects at single levels.
pub(crate) fn rows(events: Events, judgement: &Judgement) -> Vec<[String; 6]> {
    judgement.effects.iter().flat_map(|all| of_cross(events, all)).collect()
}

fn of_cross(events: Events, all: &Effects) -> Vec<[String; 6]> {
    let workload = &all.cross.workload;
    let over_all = |threads: Option<u32>| threads.is_none() || all.cross.threads.len() == 1;
    let leads = |metric: Metric| matches!(metric, Metric::Throughput | Metric::P99);
    let row = |one: &Effect, factor: String, text: String| {
        let figure = one.judged.metric.label().to_owned();
        [workload.clone(), threads(one.judged.threads), figure, factor, effects::levels(one), text]
    };
    let main = all.main.iter().filter(|one| over_all(one.judged.threads));
    let main = main.filter(|one| leads(one.judged.metric));
    let mut rows: Vec<[String; 6]> =
        main.map(|one| row(one, one.factor.clone(), effects::text(all, one))).collect();
    rows.extend(all.bytes.iter().map(|one| of_bytes(events, all, one)));
    for one in all.interactions.iter().filter(|one| leads(one.metric)) {
        rows.push([
            workload.clone(),
            threads(one.threads),
            one.metric.label().to_owned(),
            effects::factors(one),
            effects::changes(one),
            effects::interaction(one),
        ]);
        rows.extend(one.simple.iter().map(|simple| {
            let text = verdict::text_with_word(&simple.effect.judged);
            row(&simple.effect, effects::condition(simple), text)
        }));
    }
    rows
}

fn of_bytes(events: Events, all: &Effects, one: &BytesEffect) -> [String; 6] {
    let counts: Vec<u32> = all.cross.threads.iter().copied().collect();
    let single = if let [only] = counts.as_slice() { Some(*only) } else { None };
    [
        all.cross.workload.clone(),
        threads(single),
        format!("bytes per {}", events.noun()),
        one.factor.clone(),
        format!("{} → {}", one.against, one.level),
        steps::bytes_of_step(one.taken),
    ]
}

fn threads(threads: Option<u32>) -> String {
    threads.map_or_else(|| "all".into(), |threads| threads.to_string())
}

/// `effects.csv`: a row an effect, an interaction, or an effect at a single level of another
/// factor.
pub(crate) fn write_effects(file: &mut dyn Write, judgement: &Judgement) -> Result<()> {
    const HEAD: &str = "workload,threads,metric,kind,factor,against,level,other_factor,\
        other_against,other_level,ratio,ratio_low,ratio_high,repeats,p_corrected,verdict,text";
    write_row(file, HEAD.split(',').map(str::to_owned))?;
    for all in &judgement.effects {
        for one in &all.main {
            write_row(file, of_effect(all, one, "main", [""; 2], effects::text(all, one)))?;
        }
        for one in &all.bytes {
            write_row(file, csv_of_bytes(all, one))?;
        }
        for one in &all.interactions {
            write_row(file, csv_of_interaction(all, one))?;
            for simple in &one.simple {
                let text = verdict::text_with_word(&simple.effect.judged);
                let at = [simple.at_factor.as_str(), &simple.at_level];
                write_row(file, of_effect(all, &simple.effect, "simple", at, text))?;
            }
        }
    }
    Ok(())
}

fn of_effect(
    all: &Effects,
    one: &Effect,
    kind: &str,
    [other, at]: [&str; 2],
    text: String,
) -> [String; 17] {
    let found = one.judged.difference.as_ref();
    [
        all.cross.workload.clone(),
        optional(one.judged.threads),
        one.judged.metric.name().to_owned(),
        kind.to_owned(),
        one.factor.clone(),
        one.judged.baseline.clone(),
        one.judged.config.clone(),
        other.to_owned(),
        String::new(),
        at.to_owned(),
        optional(found.map(|found| found.ratio)),
        optional(found.map(|found| found.ratio_interval.0)),
        optional(found.map(|found| found.ratio_interval.1)),
        optional(found.map(|found| found.repeats)),
        optional(one.judged.p_corrected),
        verdict::word(one.judged.verdict.conclusion).to_owned(),
        text,
    ]
}

fn csv_of_bytes(all: &Effects, one: &BytesEffect) -> [String; 17] {
    let Taken { ratio, interval, .. } = one.taken;
    [
        all.cross.workload.clone(),
        String::new(),
        format!("bytes_to_{}_per_transaction", steps::bytes_to(one.taken)),
        "main".into(),
        one.factor.clone(),
        one.against.clone(),
        one.level.clone(),
        String::new(),
        String::new(),
        String::new(),
        ratio.to_string(),
        optional(interval.map(|one| one.0)),
        optional(interval.map(|one| one.1)),
        String::new(),
        String::new(),
        String::new(),
        steps::bytes_of_step(one.taken),
    ]
}

fn csv_of_interaction(all: &Effects, one: &Interaction) -> [String; 17] {
    [
        all.cross.workload.clone(),
        optional(one.threads),
        one.metric.name().to_owned(),
        "interaction".into(),
        one.factors[0].clone(),
        one.against[0].clone(),
        one.levels[0].clone(),
        one.factors[1].clone(),
        one.against[1].clone(),
        one.levels[1].clone(),
        one.ratio.to_string(),
        optional(one.interval.map(|one| one.0)),
        optional(one.interval.map(|one| one.1)),
        String::new(),
        optional(one.p_corrected),
        String::new(),
        effects::interaction(one),
    ]
}
