//! What goes on during a whole load, begun again as soon as it has ended: a backup after a backup, a rebuild after a rebuild.

use std::time::Duration;

use super::{Scene, Stage, perform};
use assay_base::text::on_one_line;
use assay_study::Happening;

/// Between two rounds: what takes no time would keep a connection busy with nothing else.
const BETWEEN: Duration = Duration::from_secs(1);

/// What came of it.
#[derive(Debug)]
pub struct Throughout {
    /// What.
    pub happening: Happening,
    /// How often it ended.
    pub rounds: u64,
    /// Why it failed, in the words of whoever refused it.
    pub error: Option<String>,
}

impl Throughout {
    /// As a circumstance of the run.
    pub fn fact(&self) -> (String, String) {
        (
            "during the search".into(),
            format!("{}, ended {} times", self.happening.word(), self.rounds),
        )
    }
}

/// Goes on until the load ends; nothing where it ended first.
pub(super) fn go_on(scene: &Scene<'_>, stage: &Stage, happening: &Happening) -> Option<Throughout> {
    // Where this thread runs matters little; the load says it if its CPUs cannot be had.
    let _ = assay_ports::cpu::bind_thread(&scene.cpus);
    stage.wait_for(0.0)?;
    let mut all = Throughout { happening: happening.clone(), rounds: 0, error: None };
    loop {
        let result = perform(scene, stage, happening, &mut None);
        // What is cut off with the load has not failed.
        if stage.is_over() {
            return Some(all);
        }
        if let Err(error) = result {
            all.error = Some(on_one_line(&format!("{error:#}")));
            return Some(all);
        }
        all.rounds += 1;
        if stage.pause(BETWEEN) {
            return Some(all);
        }
    }
}
