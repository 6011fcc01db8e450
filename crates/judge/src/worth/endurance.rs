//! How long a drive lasts, at the rate that was tested and at any other.
//!
//! Amplification counts once. Ratings (terabytes written, drive writes a day) count what the host
//! writes (JEDEC JESD218B and JESD219A), and what the device adds to it is in them already: they
//! are divided by what the host wrote. What goes to the flash is more, by collection, or less, by
//! compression; it is held against a rating of the flash alone: as given, or its erase cycles × its
//! bytes.
//!
//! A model at a scale stands for the whole device: its parallelism, and so its rates, are divided
//! by P, so the whole device writes P times as much each second. Bytes of a transaction are the
//! same, for write amplification hangs on the fill and not on the size. Its capacity is divided by
//! C, which drops out: the endurance is the whole device's, and if it were the model's, both sides
//! would be divided by C. So life = endurance ÷ (P × bytes a second of the model), and the drive
//! writes of a day are P ÷ C times the model's own.

use std::collections::BTreeMap;

use serde::Serialize;

use assay_study::DiskRecord;
use assay_study::metrics::{MetricEntry, metric};
use assay_study::prices::Each;

const SECONDS_PER_DAY: f64 = 86_400.0;

/// The Julian year.
const DAYS_PER_YEAR: f64 = 365.25;

/// Effect of a run's writes on the life of its drive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Endurance {
    /// Bytes that the device was given, for each transaction.
    pub host_bytes_per_transaction: f64,
    /// Bytes that went to its media, for each transaction, where that is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_bytes_per_transaction: Option<f64>,
    /// Bytes that the whole device would be given in a day at this rate.
    pub host_bytes_per_day: f64,
    /// Bytes that would go to the whole device's media in a day at this rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_bytes_per_day: Option<f64>,
    /// How often a day its capacity would be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive_writes_per_day: Option<f64>,
    /// Bytes that one drive write a day is.
    #[serde(skip)]
    pub capacity_bytes: Option<f64>,
    /// At the rate that was tested.
    #[serde(flatten)]
    pub life: Life,
}

/// Years that a drive lasts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Life {
    /// Until it was given what it is rated for.
    #[serde(rename = "life_years_host", skip_serializing_if = "Option::is_none")]
    pub host_years: Option<f64>,
    /// Until as much went to its flash as that is rated for.
    #[serde(rename = "life_years_media", skip_serializing_if = "Option::is_none")]
    pub media_years: Option<f64>,
}

impl Endurance {
    /// If the host writes so much a day, of the same kind: amplification is taken to stay what it
    /// was.
    pub fn life_at(&self, host_bytes_per_day: f64) -> Life {
        let times = self.host_bytes_per_day / host_bytes_per_day;
        let at = |years: Option<f64>| {
            years.map(|years| years * times).filter(|years| years.is_finite() && *years > 0.0)
        };
        Life { host_years: at(self.life.host_years), media_years: at(self.life.media_years) }
    }
}

/// Rating of a whole device, and its source.
#[derive(Debug, Clone, PartialEq)]
pub struct Rated {
    /// Bytes that it may be given.
    pub bytes: f64,
    /// From where.
    pub by: RatedBy,
}

/// From where a rating is known.
#[derive(Debug, Clone, PartialEq)]
pub enum RatedBy {
    /// `endurance_bytes` was given.
    Given,
    /// Drive writes a day and years of warranty were given.
    GivenWrites {
        /// Drive writes a day.
        per_day: f64,
        /// For so many years.
        years: f64,
    },
    /// The preset has it.
    Preset {
        /// How it is known there.
        mark: String,
        /// And from where.
        source: String,
    },
    /// The preset has drive writes a day and years of warranty.
    PresetWrites {
        /// Drive writes a day.
        per_day: f64,
        /// For so many years.
        years: f64,
    },
}

/// Rating of the device under `disk`: from `own`, else from its preset; `None` if neither suffices.
pub fn rated(disk: Option<&DiskRecord>, own: &Each) -> Option<Rated> {
    let capacity = own.capacity_bytes.or(disk.and_then(|disk| disk.user_bytes));
    if let Some(bytes) = own.endurance_bytes {
        return Some(Rated { bytes, by: RatedBy::Given });
    }
    if let Some((per_day, years)) = own.drive_writes_per_day.zip(own.warranty_years) {
        let bytes = of_writes(per_day, capacity?, years);
        return Some(Rated { bytes, by: RatedBy::GivenWrites { per_day, years } });
    }
    let worth = |name: &str| disk?.worth.get(name);
    if let Some((disk, endurance)) = disk.zip(worth("endurance_bytes")) {
        let (mark, source) = (endurance.mark.clone(), endurance.source.clone());
        let bytes = endurance.value * disk.devices();
        return Some(Rated { bytes, by: RatedBy::Preset { mark, source } });
    }
    let (writes, years) = worth("drive_writes_per_day").zip(worth("warranty_years"))?;
    let (per_day, years) = (writes.value, years.value);
    let bytes = of_writes(per_day, capacity?, years);
    Some(Rated { bytes, by: RatedBy::PresetWrites { per_day, years } })
}

/// Makers rate by years of 365 days: 3 writes a day of 3.2 TB for 5 years are 17.52 PB.
fn of_writes(writes_per_day: f64, capacity_bytes: f64, years: f64) -> f64 {
    writes_per_day * capacity_bytes * years * 365.0
}

/// Endurance of the device under `disk` by the results of a run; `None` if its writes were not
/// counted.
pub fn of_results(
    results: &BTreeMap<String, f64>,
    disk: Option<&DiskRecord>,
    own: &Each,
) -> Option<Endurance> {
    let figure =
        |metric: &MetricEntry| results.get(metric.name).copied().filter(|value| value.is_finite());
    let tps = figure(metric!("tps")).filter(|tps| *tps > 0.0)?;
    let is_software_drive = disk.is_some_and(DiskRecord::is_drive);
    let counted = figure(metric!("drive_write_bytes_host_per_s")).filter(|bytes| *bytes > 0.0);
    let to_media = counted.and_then(|_| figure(metric!("drive_write_bytes_media_per_s")));
    // What our own drive writes to its media is what the device below is given; what that writes
    // inside, nobody sees.
    let (given, media) = match (is_software_drive, to_media) {
        (true, Some(to_media)) => (to_media, None),
        _ => (figure(metric!("disk_write_bytes_per_s"))?, to_media),
    };
    let scale = disk.map_or(Some(1.0), DiskRecord::parallel_scale)?;
    let per_day = |bytes_per_s: f64| bytes_per_s * scale * SECONDS_PER_DAY;
    let rated = rated(disk, own).map(|rated| rated.bytes).filter(|bytes| bytes.is_finite());
    let life = |budget: Option<f64>, bytes_per_s: Option<f64>| {
        let per_day = per_day(bytes_per_s.filter(|bytes| *bytes > 0.0)?);
        Some(budget? / per_day / DAYS_PER_YEAR).filter(|years| years.is_finite())
    };
    let capacity = own.capacity_bytes.or(disk.and_then(|disk| disk.user_bytes));
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    Some(Endurance {
        host_bytes_per_transaction: finite(given / tps)?,
        media_bytes_per_transaction: media.and_then(|media| finite(media / tps)),
        host_bytes_per_day: finite(per_day(given))?,
        media_bytes_per_day: media.map(per_day).and_then(finite),
        drive_writes_per_day: capacity.and_then(|capacity| finite(per_day(given) / capacity)),
        capacity_bytes: capacity,
        life: Life {
            host_years: life(rated, Some(given)),
            media_years: life(own.endurance_media_bytes.or(disk.and_then(flash_bytes)), media),
        },
    })
}

/// Bytes that may be programmed until every erase block was erased as often as it may be.
fn flash_bytes(disk: &DiskRecord) -> Option<f64> {
    let cycles = disk.worth.get("erase_cycles")?.value;
    Some(disk.user_bytes? * disk.raw_per_user.unwrap_or(1.0) * cycles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::{DriveRecord, Media, Model, Worth};

    fn results(figures: &[(&str, f64)]) -> BTreeMap<String, f64> {
        figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    fn worth(figures: &[(&str, f64)]) -> BTreeMap<String, Worth> {
        let of = |value: f64| Worth { value, mark: "published".into(), source: "a paper".into() };
        figures.iter().map(|(name, value)| ((*name).to_owned(), of(*value))).collect()
    }

    /// A drive of 3.2 TB, 3 writes a day for 5 years.
    fn model(capacity_scale: f64, parallel_scale: f64) -> DiskRecord {
        DiskRecord {
            media: Media::Model(Model { capacity_scale, parallel_scale, ..Model::default() }),
            user_bytes: Some(3.2e12),
            raw_per_user: Some(1.25),
            worth: worth(&[("drive_writes_per_day", 3.0), ("warranty_years", 5.0)]),
            ..DiskRecord::default()
        }
    }

    /// 100 transactions a second that write 20 kB each, of which the flash gets half again as much.
    fn trial(times: f64) -> BTreeMap<String, f64> {
        results(&[
            ("tps", 100.0 * times),
            ("disk_write_bytes_per_s", 2e6 * times),
            ("drive_write_bytes_host_per_s", 2e6 * times),
            ("drive_write_bytes_media_per_s", 3e6 * times),
        ])
    }

    fn near(one: Option<f64>, other: f64) -> bool {
        one.is_some_and(|one| (one / other - 1.0).abs() < 1e-9)
    }

    #[test]
    fn makers_arithmetic_comes_out() {
        let rated = rated(Some(&model(1.0, 1.0)), &Each::default()).unwrap();
        assert_eq!(rated.bytes, 17.52e15);
    }

    #[test]
    fn devices_side_by_side_are_rated_for_as_many_times_as_much() {
        let mut disk = model(1.0, 1.0);
        let alone = of_results(&trial(1.0), Some(&disk), &Each::default()).unwrap();
        if let Media::Model(model) = &mut disk.media {
            model.devices = 4;
        }
        disk.worth = worth(&[("endurance_bytes", 17.52e15)]);
        let four = of_results(&trial(1.0), Some(&disk), &Each::default()).unwrap();
        assert!(near(four.life.host_years, 4.0 * alone.life.host_years.unwrap()));
    }

    #[test]
    fn a_drive_that_is_written_as_it_is_rated_lasts_as_long_as_its_warranty() {
        let written = 3.0 * 3.2e12 / SECONDS_PER_DAY;
        let results = results(&[("tps", 10.0), ("disk_write_bytes_per_s", written)]);
        let found = of_results(&results, Some(&model(1.0, 1.0)), &Each::default()).unwrap();
        assert!(near(found.drive_writes_per_day, 3.0));
        // Five years of 365 days.
        assert!(near(found.life.host_years, 5.0 * 365.0 / 365.25));
        assert_eq!((found.life.media_years, found.media_bytes_per_day), (None, None));
    }

    #[test]
    fn a_scale_model_stands_for_the_whole_device() {
        let of = |capacity: f64, parallel: f64, times: f64| {
            let disk = model(capacity, parallel);
            of_results(&trial(times), Some(&disk), &Each::default()).unwrap()
        };
        let whole = of(1.0, 1.0, 36.0);
        assert!(near(whole.life.host_years, 17.52e15 / (72e6 * 86_400.0 * 365.25)));
        // A thirty-sixth of the rate on a thirty-sixth of the parallelism is the same device,
        // whatever its capacity.
        for capacity in [1.0, 36.0, 4000.0] {
            let scaled = of(capacity, 36.0, 1.0);
            assert!(near(scaled.life.host_years, whole.life.host_years.unwrap()), "{capacity}");
            assert!(near(scaled.drive_writes_per_day, whole.drive_writes_per_day.unwrap()));
            assert_eq!(scaled.host_bytes_per_transaction, whole.host_bytes_per_transaction);
            // And P ÷ C times the model's own writes of a day.
            let own = 2e6 * SECONDS_PER_DAY / (3.2e12 / capacity);
            assert!(near(scaled.drive_writes_per_day, own * 36.0 / capacity));
        }
        // Negative control: the same rate on a device that is scaled otherwise is another load.
        assert!(!near(of(36.0, 72.0, 1.0).life.host_years, whole.life.host_years.unwrap()));
    }

    #[test]
    fn flash_is_told_from_what_the_host_wrote() {
        let mut disk = model(1.0, 1.0);
        disk.worth.extend(worth(&[("erase_cycles", 40_000.0)]));
        let found = of_results(&trial(1.0), Some(&disk), &Each::default()).unwrap();
        assert_eq!(found.host_bytes_per_transaction, 20_000.0);
        assert_eq!(found.media_bytes_per_transaction, Some(30_000.0));
        assert!(near(found.life.host_years, 17.52e15 / (2e6 * 86_400.0 * 365.25)));
        let cycles = 3.2e12 * 1.25 * 40_000.0 / (3e6 * 86_400.0 * 365.25);
        assert!(
            near(found.life.media_years, cycles),
            "a rating of host writes is not held against flash"
        );
        let own = Each { endurance_media_bytes: Some(6e15), ..Each::default() };
        let given = of_results(&trial(1.0), Some(&disk), &own).unwrap().life;
        assert!(near(given.media_years, 6e15 / (3e6 * 86_400.0 * 365.25)));
        disk.worth.remove("erase_cycles");
        let unrated = of_results(&trial(1.0), Some(&disk), &Each::default()).unwrap();
        assert_eq!(unrated.life.media_years, None);
    }

    #[test]
    fn a_life_at_another_rate_is_as_much_longer_as_less_is_written() {
        let mut disk = model(1.0, 1.0);
        disk.worth.extend(worth(&[("erase_cycles", 40_000.0)]));
        let found = of_results(&trial(1.0), Some(&disk), &Each::default()).unwrap();
        let once_a_day = found.life_at(found.capacity_bytes.unwrap());
        // 3 drive writes a day for 5 years of 365 days.
        assert!(near(once_a_day.host_years, 15.0 * 365.0 / 365.25));
        // Of 4 TB of flash at 40 000 cycles, of which 1.5 bytes go for each of the host.
        assert!(near(once_a_day.media_years, 4e12 * 40_000.0 / (1.5 * 3.2e12) / 365.25));
        assert_eq!(found.life_at(0.0).host_years, None);
    }

    #[test]
    fn what_the_software_drive_writes_is_what_its_device_is_given() {
        let disk =
            DiskRecord { media: Media::Drive(DriveRecord::default()), ..DiskRecord::default() };
        let own = Each { endurance_bytes: Some(1e15), ..Each::default() };
        let found = of_results(&trial(1.0), Some(&disk), &own).unwrap();
        assert_eq!(found.host_bytes_per_transaction, 30_000.0);
        assert_eq!(found.media_bytes_per_transaction, None, "what the device does inside");
        assert!(near(found.life.host_years, 1e15 / (3e6 * 86_400.0 * 365.25)));
    }

    #[test]
    fn what_is_given_goes_before_the_preset_and_half_of_it_is_not_enough() {
        let disk = model(1.0, 1.0);
        let given = |own: &Each| rated(Some(&disk), own).map(|rated| rated.bytes);
        let own = Each { endurance_bytes: Some(1e15), ..Each::default() };
        assert_eq!(given(&own), Some(1e15));
        let own = Each {
            drive_writes_per_day: Some(1.0),
            warranty_years: Some(3.0),
            capacity_bytes: Some(1e12),
            ..Each::default()
        };
        assert_eq!(given(&own), Some(1095e12));
        let half =
            DiskRecord { worth: worth(&[("drive_writes_per_day", 10.0)]), ..model(1.0, 1.0) };
        assert_eq!(rated(Some(&half), &Each::default()), None, "for how long is not said");
        assert_eq!(rated(None, &Each::default()), None);
        let unrated = of_results(&trial(1.0), None, &Each::default()).unwrap();
        assert_eq!((unrated.life.host_years, unrated.drive_writes_per_day), (None, None));
        assert_eq!(of_results(&results(&[("tps", 1.0)]), None, &Each::default()), None);
    }

    #[test]
    fn figures_beyond_all_measure_make_none() {
        let of = |tps: f64, written: f64| {
            let results = results(&[("tps", tps), ("disk_write_bytes_per_s", written)]);
            of_results(&results, Some(&model(1.0, 1.0)), &Each::default())
        };
        assert!(of(1.0, 1.0).is_some());
        for (tps, written) in [(f64::INFINITY, 1.0), (1.0, f64::NAN), (1e-300, 1e300)] {
            assert_eq!(of(tps, written), None, "{tps} {written}");
        }
        assert_eq!(of(1.0, 1e-310).unwrap().life.host_years, None);
    }
}
