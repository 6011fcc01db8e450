//! The prepared workloads of one load: its own, and those of its phases on the same tables.
//!
//! They share the sources of values that must not repeat within a load, such as ids of new rows.

use crate::course::MAIN_MIX;
use crate::error::{Error, Result};
use crate::program::Program;
use crate::spec::LoadSpec;
use crate::workload::Workload;

/// All mixes of a load, at least its own.
pub(crate) struct Mixes {
    main: Program,
    others: Vec<Program>,
    /// Number of each phase's mix.
    of_phases: Vec<usize>,
}

impl Mixes {
    pub(crate) fn new(load: &LoadSpec) -> Result<Mixes> {
        let LoadSpec { schema, workload, schedule, .. } = load;
        let (deal, seed) = (schedule.deal(), schedule.seed);
        let program = |its: &Workload| Program::new(schema, its, deal, seed);
        let main = program(workload)?;
        let mut mixes = Mixes { main, others: Vec::new(), of_phases: Vec::new() };
        for phase in schedule.phases.iter().flat_map(|phases| &phases.each) {
            let mix = match &phase.workload {
                Some(its) if *its != *workload => mixes.number_of(its, program)?,
                _ => MAIN_MIX,
            };
            mixes.of_phases.push(mix);
        }
        Ok(mixes)
    }

    fn number_of(
        &mut self,
        workload: &Workload,
        program: impl Fn(&Workload) -> Result<Program>,
    ) -> Result<usize> {
        if let Some(place) = self.others.iter().position(|program| program.workload == *workload) {
            return Ok(place + 1);
        }
        if workload.mode != self.main.workload.mode {
            return Err(Error::Config(
                "a phase's workload has another `mode` than the load; give both the same".into(),
            ));
        }
        self.others.push(program(workload)?.beside(&self.main));
        Ok(self.others.len())
    }

    /// The load's own workload.
    pub(crate) fn main(&self) -> &Program {
        &self.main
    }

    /// The mix with this number.
    #[inline]
    pub(crate) fn of(&self, mix: usize) -> &Program {
        let other = mix.checked_sub(1).and_then(|place| self.others.get(place));
        other.unwrap_or(&self.main)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Program> {
        std::iter::once(&self.main).chain(&self.others)
    }

    /// Number of each phase's mix.
    pub(crate) fn of_phases(&self) -> &[usize] {
        &self.of_phases
    }

    /// Statements that each connection prepares.
    pub(crate) fn prepared_per_connection(&self) -> u64 {
        self.all().map(Program::prepared_per_connection).sum()
    }
}
