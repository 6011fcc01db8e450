//! How long flash lasts under one configuration, measured by another: what is known of life where
//! no device is rated.
//!
//! Flash wears by what is programmed into it. The same flash under the same transactions therefore
//! lasts in inverse proportion to the bytes that each of them sends to it; its erase cycles, its
//! size and the rate drop out. A scale does too: it leaves bytes of a transaction as they are.

use crate::interval::Interval;
use crate::worth::endurance::Endurance;

/// How many times as long the same flash lasts under the same transactions as with `base`; nothing
/// where either of both does not count what goes to its flash, or sent nothing there.
pub fn on_equal_flash(own: &Endurance, base: &Endurance) -> Option<f64> {
    let times = base.media_bytes_per_transaction? / own.media_bytes_per_transaction?;
    Some(times).filter(|times| Interval::exactly(*times).is_sound())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worth::endurance::Life;

    fn writing(media_bytes_per_transaction: Option<f64>) -> Endurance {
        Endurance {
            host_bytes_per_transaction: 240_000.0,
            media_bytes_per_transaction,
            host_bytes_per_day: 1e12,
            media_bytes_per_day: None,
            drive_writes_per_day: None,
            capacity_bytes: None,
            life: Life { host_years: None, media_years: None },
        }
    }

    fn lasts(own: Option<f64>, base: Option<f64>) -> Option<f64> {
        on_equal_flash(&writing(own), &writing(base))
    }

    #[test]
    fn a_seventh_of_the_bytes_lasts_seven_times_as_long() {
        assert_eq!(lasts(Some(54_000.0), Some(378_000.0)), Some(7.0));
        assert_eq!(
            lasts(Some(54_000.0), Some(27_000.0)),
            Some(0.5),
            "twice the bytes, half the life"
        );
        assert_eq!(lasts(Some(54_000.0), Some(54_000.0)), Some(1.0), "itself");
        // Negative control: what the host writes is the same in all of these, and says nothing of
        // flash.
        assert_ne!(lasts(Some(54_000.0), Some(378_000.0)), Some(1.0));
    }

    #[test]
    fn nothing_is_told_of_flash_that_nobody_counts() {
        assert_eq!(lasts(None, Some(1.0)), None);
        assert_eq!(lasts(Some(1.0), None), None);
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                (lasts(Some(odd), Some(1.0)), lasts(Some(1.0), Some(odd))),
                (None, None),
                "{odd}"
            );
        }
    }
}
