//! Prints the drawing: the crates, then the modules of each.

use std::io::Write;

use assay_architecture::workspace;

fn main() -> anyhow::Result<()> {
    let metadata = workspace::metadata()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "crates\n{}", workspace::crates(&metadata).drawing())?;
    for (name, graph) in workspace::modules(&metadata)? {
        writeln!(out, "{name}\n{}", graph.drawing())?;
        for circle in graph.circles() {
            writeln!(out, "circle:\n{circle}")?;
        }
    }
    Ok(())
}
