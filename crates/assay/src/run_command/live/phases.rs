//! Names of a run's phases by time.

use assay_plan::Experiment;

/// Phases of each run of a plan, in order; empty if it has none.
#[derive(Debug, Clone, Default)]
pub(crate) struct PhaseNames {
    /// Name and end of each phase, in seconds since the beginning of the measuring window.
    each: Vec<(String, f64)>,
}

impl PhaseNames {
    pub fn of(experiment: &Experiment) -> PhaseNames {
        let phases = experiment.phases.iter().scan(0.0, |end_s, phase| {
            *end_s += phase.seconds;
            Some((phase.name.clone(), *end_s))
        });
        PhaseNames { each: phases.collect() }
    }

    /// Suffix for the step of a run after `measured_s` seconds of its measuring window: `, phase 2
    /// of 5: burst`.
    pub fn at(&self, measured_s: f64) -> String {
        // A second belongs to the phase in which it began; it is reported when it has ended.
        let place = self.each.iter().position(|(_, end_s)| measured_s <= *end_s);
        let last = self.each.len().checked_sub(1);
        match place.or(last) {
            Some(place) => {
                format!(", phase {} of {}: {}", place + 1, self.each.len(), self.each[place].0)
            }
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_of_the_phase_that_it_began_in() {
        let each = vec![("calm".into(), 10.0), ("burst".into(), 15.0)];
        let phases = PhaseNames { each };
        assert_eq!(phases.at(1.0), ", phase 1 of 2: calm");
        assert_eq!(phases.at(10.0), ", phase 1 of 2: calm");
        assert_eq!(phases.at(11.0), ", phase 2 of 2: burst");
        assert_eq!(phases.at(15.5), ", phase 2 of 2: burst", "what is left at the end");
        assert_eq!(PhaseNames::default().at(3.0), "");
    }
}
