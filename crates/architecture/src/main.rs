//! Prints the drawing: the crates, then the modules of each; with `tidy`, breaches of the tidy
//! rules.

use std::io::Write;

use assay_architecture::{tidy, workspace};
use cargo_metadata::Metadata;

fn main() -> anyhow::Result<()> {
    let metadata = workspace::metadata()?;
    let mut out = std::io::stdout().lock();
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => print_breaches(&metadata, &mut out),
        _ => draw(&metadata, &mut out),
    }
}

fn draw(metadata: &Metadata, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "crates\n{}", workspace::crates(metadata).drawing())?;
    for (name, graph) in workspace::modules(metadata)? {
        writeln!(out, "{name}\n{}", graph.drawing())?;
        for circle in graph.circles() {
            writeln!(out, "circle:\n{circle}")?;
        }
    }
    Ok(())
}

fn print_breaches(metadata: &Metadata, out: &mut impl Write) -> anyhow::Result<()> {
    let sources = tidy::sources(metadata)?;
    let voice = tidy::voice(&sources);
    let groups = [
        ("lines above 100 characters", tidy::long_lines(&sources)),
        ("files above 700 lines", tidy::long_files(&sources)),
        ("public types of one name", tidy::shared_type_names(&sources)?),
        ("comments that begin with What or Of", voice.empty),
    ];
    for (title, found) in groups {
        writeln!(out, "{}: {}", title, found.len())?;
        found.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    }
    writeln!(out, "of {} comments", voice.comments)?;
    Ok(())
}
