//! The help, made from the table of properties.

use std::fmt::Write;

use super::properties::{KNOWN, Use};

/// The text that `assay load ycsb help` prints.
#[must_use]
pub fn help() -> String {
    let mut text = String::from(
        "Puts YCSB's core workloads on a MySQL or MariaDB server, with the command line,\n\
         the property files and the closing lines of YCSB 0.17.0.\n\n\
         Usage: assay load ycsb load|run|cleanup [jdbc] [-P FILE] [-p KEY=VALUE]\n\
         \x20      [-threads N] [-target OPS_PER_SECOND] [-s]\n\n\
         Examples:\n  \
         assay load ycsb load -P workloada -p recordcount=1000000 -threads 16 \\\n    \
         -p db.url=jdbc:mysql://127.0.0.1:3306/ycsb -p db.user=bench -p db.passwd=…\n  \
         assay load ycsb run -P workloada -p recordcount=1000000 \\\n    \
         -p operationcount=10000000 -threads 16 -target 5000 -s\n  \
         assay load ycsb run -P workloadb -p recordcount=1000000 \\\n    \
         -p maxexecutiontime=60 -target 5000 -p assay.arrivals=poisson\n\n\
         load creates the table if it is not there and inserts recordcount records.\n\
         -P workloada … workloadf without such a file stands for the published one.\n\
         -s prints the state every 10 seconds (status.interval).\n\
         -target does as YCSB: each thread keeps to its share, and one that is late\n\
         catches up. With assay.arrivals=poisson or even the loop is open: operations\n\
         come when they are due, and latency counts from then.\n\n\
         Ours: assay.mode=compat (as YCSB, the default) or strict (exact zipfian,\n\
         statements prepared on the server, an exact window), assay.seed=N,\n\
         assay.warmup=SECONDS, assay.arrivals=poisson|even, assay.socket=PATH,\n\
         assay.json=FILE, assay.preflight=false (no checks before a run).\n\
         docs/workloads.md tells more.\n\n",
    );
    let names = |wanted: fn(Use) -> bool| {
        let of = KNOWN.iter().filter(|(_, used)| wanted(*used)).map(|(name, _)| *name);
        wrapped(of)
    };
    let _ = writeln!(text, "Properties:\n{}", names(|used| used == Use::Followed));
    let _ = writeln!(
        text,
        "\nProperties with their default alone:\n{}",
        names(|used| matches!(used, Use::Only(_)))
    );
    let _ = writeln!(text, "\nAccepted without effect:\n{}", names(|used| used == Use::NoEffect));
    text
}

/// Words in lines of at most 78 letters.
fn wrapped<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let (mut text, mut line) = (String::new(), String::new());
    for word in words {
        if line.len() + word.len() > 74 {
            let _ = writeln!(text, "  {},", std::mem::take(&mut line));
        }
        let _ = write!(line, "{}{word}", if line.is_empty() { "" } else { ", " });
    }
    text + "  " + &line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_property_is_in_the_help_and_no_line_is_too_long() {
        let help = help();
        for (name, _) in KNOWN {
            assert!(help.contains(name), "{name}");
        }
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
}
