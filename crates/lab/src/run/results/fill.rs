//! Fill of a modelled device during a run: a result, and a warning if it is not as planned.
//!
//! The drive inside the model counts the blocks that hold data (written and not zero, for the model
//! of a drive that compresses). A model that stores blocks at their addresses has no such count:
//! its fill is the used part of the file system, metadata included. Both are shares of the capacity
//! that is sold, like the plan's `fill`.
//!
//! A server writes to unused blocks, so the fill grows during a run: the fill at the start of the
//! window and its average must agree with the plan.

use assay_plan::PlannedRig;
use assay_study::metrics::{MetricEntry, Window, has_ended, metric};
use assay_study::{Series, Warning};

use super::figures::Results;

/// Tolerated deviation in percentage points.
const TOLERANCE_PERCENT: f64 = 2.0;

/// The capacity that the fill is a share of, and the source of its count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Device {
    user_bytes: f64,
    file_system_bytes: f64,
    has_drive: bool,
    planned_percent: f64,
}

/// Fill of a modelled device at both ends of the window.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Fill {
    /// `fill_begin_percent` and `fill_end_percent`, as far as they are known.
    pub(crate) results: Results,
    /// They are not as planned.
    pub(crate) warning: Option<Warning>,
}

fn warning(planned_percent: f64, begin: Option<f64>, end: Option<f64>) -> Option<Warning> {
    let (begin_percent, end_percent) = (begin?, end?);
    let is_off = |percent: f64| (percent - planned_percent).abs() > TOLERANCE_PERCENT;
    (is_off(begin_percent) || is_off((begin_percent + end_percent) / 2.0))
        .then_some(Warning::Fill { begin_percent, end_percent, planned_percent })
}

impl Device {
    /// The device of a rig on a model.
    pub(crate) fn of(rig: &PlannedRig) -> Option<Device> {
        let model = rig.model()?;
        let device = &model.device;
        Some(Device {
            user_bytes: device.user_bytes() as f64,
            file_system_bytes: model.filled_bytes() as f64,
            has_drive: device.nand().is_some(),
            planned_percent: model.fill * 100.0,
        })
    }

    pub(crate) fn fill(&self, series: &[Series], window: Window) -> Fill {
        let at = |second: f64| self.percent_at(series, second);
        let (begin, end) = (at(window.from_s), at(window.to_s));
        let named = [(metric!("fill_begin_percent"), begin), (metric!("fill_end_percent"), end)];
        let known = named.into_iter().filter_map(|(metric, percent)| Some((metric, percent?)));
        Fill {
            results: known.map(|(metric, percent)| (metric.name.to_owned(), percent)).collect(),
            warning: warning(self.planned_percent, begin, end),
        }
    }

    /// Fill at this second of the run's clock: by the last sample until then, else by the first.
    fn percent_at(&self, series: &[Series], second_s: f64) -> Option<f64> {
        let value = |metric: &MetricEntry| {
            let points = &series.iter().find(|series| series.name == metric.name)?.points;
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
    use crate::testing::planned_rig;
    use assay_study::metrics::find;

    fn series(name: &str, points: &[(u32, f64)]) -> Series {
        Series { points: points.to_vec(), ..Series::of(find(name).unwrap()) }
    }

    /// A rig on a model of this preset, half full.
    fn rig(preset: &str) -> PlannedRig {
        planned_rig(&format!(
            "kind = \"model\"\nmodel = {{ preset = \"{preset}\", capacity_scale = 1000, \
             parallel_scale = 1, fill = 0.5 }}"
        ))
    }

    const WINDOW: Window = Window { from_s: 2.0, to_s: 6.0 };

    #[test]
    fn what_the_drive_holds_is_told_at_both_ends_of_the_window() {
        let device = Device::of(&rig("p4610-3.2")).unwrap();
        let user = device.user_bytes;
        let held = |begin: f64, end: f64| {
            let points = [(1, 0.9 * user), (2, begin * user), (6, end * user), (7, 0.9 * user)];
            device.fill(&[series("drive_logical_bytes_used", &points)], WINDOW)
        };
        let right = held(0.51, 0.519);
        assert!((right.results["fill_begin_percent"] - 51.0).abs() < 1e-9);
        assert!((right.results["fill_end_percent"] - 51.9).abs() < 1e-9);
        assert_eq!(right.warning, None);
        assert_eq!(held(0.505, 0.526).warning, None, "51.6 % on average");
        let grown = held(0.51, 0.54).warning;
        let Some(Warning::Fill { begin_percent, end_percent, planned_percent }) = grown else {
            panic!("{grown:?}");
        };
        for (found, expected) in
            [(begin_percent, 51.0), (end_percent, 54.0), (planned_percent, 50.0)]
        {
            assert!((found - expected).abs() < 1e-9, "{grown:?}");
        }
        assert!(held(0.4, 0.5).warning.is_some());
        assert!(held(0.475, 0.52).warning.is_some(), "it began too empty");
    }

    #[test]
    fn without_a_drive_it_is_what_the_file_system_takes() {
        let device = Device::of(&rig("sas15k-r10x6")).unwrap();
        let free = 0.04 * device.user_bytes;
        let total = device.file_system_bytes - 1e6;
        let all = [
            series("space_filesystem_total_bytes", &[(2, total)]),
            series("space_filesystem_used_bytes", &[(2, total - free)]),
        ];
        let fill = device.fill(&all, WINDOW);
        assert!((fill.results["fill_end_percent"] - 46.0).abs() < 0.01);
        assert!(fill.warning.is_some(), "4 % of it are free");
    }

    #[test]
    fn what_is_no_model_or_was_not_seen_has_no_fill() {
        assert_eq!(Device::of(&PlannedRig::Directory), None);
        let device = Device::of(&rig("p4610-3.2")).unwrap();
        assert_eq!(device.fill(&[], WINDOW), Fill::default());
    }
}
