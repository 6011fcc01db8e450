//! How full a modelled device was while a run was measured: a result, and a warning where it is not what the plan says.
//!
//! What holds data is counted by the drive inside the model (written and not zero, for the model of a drive that
//! compresses). A model that stores blocks where they are addressed has no such count: there it is what the file system
//! takes, metadata included. Both are shares of what the device is sold with, like the plan's `fill`.
//!
//! A server writes where nothing lay, so a device gets fuller while it is measured: what must agree with the plan is
//! how full it was when measuring began and how full it was on average.

use assay_plan::RigSpec;
use assay_study::metrics::{Metric, has_ended, metric};
use assay_study::{Outcome, Series, Warning};

/// Points of percent by which it may be off.
const TOLERANCE_PERCENT: f64 = 2.0;

/// What a fill is a share of, and where it is counted.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Device {
    user_bytes: f64,
    file_system_bytes: f64,
    has_drive: bool,
    planned_percent: f64,
}

/// Puts `fill_begin_percent` and `fill_end_percent` into the results of a run on a model, and a warning where they are off.
pub(crate) fn verify(outcome: &mut Outcome, rig: &RigSpec) {
    let Some(device) = Device::of(rig) else { return };
    let Some(window) = outcome.window else { return };
    let at = |second: f64| device.percent_at(&outcome.series, second);
    let (begin, end) = (at(window.from_s), at(window.to_s));
    for (metric, percent) in
        [(metric!("fill_begin_percent"), begin), (metric!("fill_end_percent"), end)]
    {
        outcome.results.extend(percent.map(|percent| (metric.name.to_owned(), percent)));
    }
    outcome.warnings.extend(warning(device.planned_percent, begin, end));
}

fn warning(planned_percent: f64, begin: Option<f64>, end: Option<f64>) -> Option<Warning> {
    let (begin_percent, end_percent) = (begin?, end?);
    let is_off = |percent: f64| (percent - planned_percent).abs() > TOLERANCE_PERCENT;
    (is_off(begin_percent) || is_off((begin_percent + end_percent) / 2.0))
        .then_some(Warning::Fill { begin_percent, end_percent, planned_percent })
}

impl Device {
    /// Of a rig on a model.
    fn of(rig: &RigSpec) -> Option<Device> {
        let model = rig.model.as_ref()?;
        let (_, device) = model.device().ok()?;
        Some(Device {
            user_bytes: device.user_bytes() as f64,
            file_system_bytes: model.filled_bytes(&device) as f64,
            has_drive: device.nand().is_some(),
            planned_percent: model.fill * 100.0,
        })
    }

    /// Share of it that held data at this second of the run's clock: by the last sample until then, else by the first.
    fn percent_at(&self, series: &[Series], second_s: f64) -> Option<f64> {
        let value = |metric: &Metric| {
            let points = &series.iter().find(|one| one.name == metric.name)?.points;
            let until = points.iter().rev().find(|(second, _)| has_ended(*second, second_s));
            until.or(points.first()).map(|point| point.1)
        };
        let held = if self.has_drive {
            value(metric!("drive_logical_bytes_used"))?
        } else {
            let total = value(metric!("space_filesystem_total_bytes"))?;
            self.file_system_bytes - (total - value(metric!("space_filesystem_used_bytes"))?)
        };
        Some(held / self.user_bytes * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_plan::Plan;
    use assay_study::metrics::{Window, find};

    fn series(name: &str, points: &[(u32, f64)]) -> Series {
        Series { points: points.to_vec(), ..Series::of(find(name).unwrap()) }
    }

    /// A rig on a model of this preset, half full.
    fn rig(preset: &str) -> RigSpec {
        let text = format!(
            "title = \"t\"\nthreads = [1]\nseconds = 1\n[rig]\nkind = \"model\"\nmodel = {{ preset = \"{preset}\", \
             capacity_scale = 1000, parallel_scale = 1, fill = 0.5 }}\n[workloads.w]\nrecipe = \"oltp_read_write\"\n[configs.a]\n"
        );
        Plan::parse(&text).unwrap().rig
    }

    fn outcome(series: Vec<Series>) -> Outcome {
        Outcome { window: Some(Window { from_s: 2.0, to_s: 6.0 }), series, ..Outcome::default() }
    }

    #[test]
    fn what_the_drive_holds_is_told_at_both_ends_of_the_window() {
        let rig = rig("p4610-3.2");
        let user = Device::of(&rig).unwrap().user_bytes;
        let held = |begin: f64, end: f64| {
            let points = [(1, 0.9 * user), (2, begin * user), (6, end * user), (7, 0.9 * user)];
            let mut outcome = outcome(vec![series("drive_logical_bytes_used", &points)]);
            verify(&mut outcome, &rig);
            outcome
        };
        let right = held(0.51, 0.519);
        assert!((right.results["fill_begin_percent"] - 51.0).abs() < 1e-9);
        assert!((right.results["fill_end_percent"] - 51.9).abs() < 1e-9);
        assert_eq!(right.warnings, Vec::<Warning>::new());
        assert_eq!(held(0.505, 0.526).warnings, Vec::<Warning>::new(), "51.6 % on average");
        let grown = held(0.51, 0.54).warnings;
        let [Warning::Fill { begin_percent, end_percent, planned_percent }] = grown[..] else {
            panic!("{grown:?}");
        };
        for (found, expected) in
            [(begin_percent, 51.0), (end_percent, 54.0), (planned_percent, 50.0)]
        {
            assert!((found - expected).abs() < 1e-9, "{grown:?}");
        }
        assert_eq!(held(0.4, 0.5).warnings.len(), 1);
        assert_eq!(held(0.475, 0.52).warnings.len(), 1, "it began too empty");
    }

    #[test]
    fn without_a_drive_it_is_what_the_file_system_takes() {
        let rig = rig("sas15k-r10x6");
        let device = Device::of(&rig).unwrap();
        let free = 0.04 * device.user_bytes;
        let total = device.file_system_bytes - 1e6;
        let mut outcome = outcome(vec![
            series("space_filesystem_total_bytes", &[(2, total)]),
            series("space_filesystem_used_bytes", &[(2, total - free)]),
        ]);
        verify(&mut outcome, &rig);
        assert!((outcome.results["fill_end_percent"] - 46.0).abs() < 0.01);
        assert_eq!(outcome.warnings.len(), 1, "4 % of it are free");
    }

    #[test]
    fn what_is_no_model_or_was_not_seen_has_no_fill() {
        let mut without = outcome(vec![]);
        verify(&mut without, &rig("p4610-3.2"));
        verify(&mut without, &RigSpec::default());
        assert!(without.results.is_empty() && without.warnings.is_empty());
    }
}
