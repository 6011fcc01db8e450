//! The measuring window, and the rule for which seconds belong to it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Part of a run, in seconds of the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Window {
    pub from_s: f64,
    pub to_s: f64,
}

impl Window {
    /// Returns true if the sample of this second belongs to the window. Second n ends n seconds
    /// after the clock's start, so the window's first second is the one after its start; its last
    /// may end a moment after it, see [`has_ended`].
    pub fn contains_second(self, second: u32) -> bool {
        f64::from(second) > self.from_s && has_ended(second, self.to_s)
    }

    pub fn length_s(self) -> f64 {
        self.to_s - self.from_s
    }
}

/// Returns true if a second had ended at this moment of the clock. Half a second more counts: the
/// load numbers a second by the whole number nearest to its end, so the last second of a window
/// that ends at 22.98 s is 23.
pub fn has_ended(second: u32, at_s: f64) -> bool {
    f64::from(second) <= at_s + 0.5
}

/// Serializes as `[from, to]`.
impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.from_s, self.to_s).serialize(serializer)
    }
}

impl<'a> Deserialize<'a> for Window {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Window, D::Error> {
        let (from_s, to_s) = Deserialize::deserialize(from)?;
        Ok(Window { from_s, to_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_begins_with_the_second_after_its_start_and_ends_with_the_one_nearest_to_its_end() {
        let inside = |from_s, to_s| -> Vec<u32> {
            (0..10).filter(|second| Window { from_s, to_s }.contains_second(*second)).collect()
        };
        assert_eq!(inside(2.0, 5.0), [3, 4, 5]);
        assert_eq!(inside(2.02, 4.98), [3, 4, 5], "second 5 ended at 4.98");
        assert_eq!(inside(2.02, 5.4), [3, 4, 5]);
        assert_eq!(inside(1.98, 5.5), [2, 3, 4, 5, 6]);
        assert_eq!(inside(3.0, 3.0), [0_u32; 0]);
    }

    #[test]
    fn a_window_is_written_as_its_two_ends() {
        let json = serde_json::to_string(&Window { from_s: 3.0, to_s: 13.5 }).unwrap();
        assert_eq!(json, "[3.0,13.5]");
    }
}
