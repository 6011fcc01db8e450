//! A device's model in a rig: served over a copy of its preconditioned media for as long as the rig
//! stands.

use std::path::Path;

use anyhow::Result;

use assay_base::Size;
use assay_plan::PlannedModel;
use assay_presets::{Mark, Obtained, Preset};
use assay_serve::{AttachOptions, Attached, Export, ModelJob};

use super::Building;

/// Serves the model by a child and records its commands if that is wanted. Unless it records, the
/// model begins to keep time only on command: on a clock that jumps, earlier commands cannot be
/// found again.
///
/// # Errors
/// One line, the serving process's own.
pub fn serve(model: &PlannedModel, media: &Path, building: &Building<'_>) -> Result<Attached> {
    let options = AttachOptions { threads: model.threads, ..AttachOptions::default() };
    let export = Export::Model {
        device: ModelJob::new(&model.preset, model.scale_of_one),
        keeps_time_when_told: building.trace.is_none(),
        trace: building.trace.map(Path::to_owned),
    };
    Attached::start(&media.canonicalize()?, &options, &export, building.ledger, building.drive_cpus)
}

/// The model in words, label by label: a model, never the device.
///
/// # Errors
/// The preset's text does not list its numbers.
pub fn description(model: &PlannedModel) -> Result<Vec<(String, String)>> {
    let preset = &model.preset;
    let scale = model.device.obtained().iter().map(obtained).collect::<Vec<_>>().join(", ");
    let filled = Size(model.filled_bytes());
    let logical = Size(model.logical_bytes());
    let fault = preset.fault();
    let fault = (!fault.is_none()).then(|| ("fault", format!("injected fault: it {fault}")));
    let told = [
        (
            "disk",
            format!(
                "model of {}: {logical}, {filled} of it filled and preconditioned",
                preset.document.title
            ),
        ),
        ("scale", scale),
        ("numbers", numbers(preset)?),
    ];
    let told = told.into_iter().chain(fault);
    Ok(told.map(|(label, text)| (label.to_owned(), text)).collect())
}

fn obtained(one: &Obtained) -> String {
    format!("{} {} ÷ {:.4}", one.resource.replace('_', " "), one.real, one.factor)
}

/// Counts of a preset's numbers by their origin.
fn numbers(preset: &Preset) -> Result<String> {
    let rows = preset.rows()?;
    let of = |mark: Mark| rows.iter().filter(|row| row.mark == mark).count();
    let counted = Mark::ALL.map(|mark| format!("{} {}", of(mark), mark.name()));
    Ok(format!("{}; `assay models {}` lists them", counted.join(", "), preset.name))
}
