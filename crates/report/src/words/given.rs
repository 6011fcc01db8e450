//! Sentences about a machine that differs from what a plan asks for.

use assay_study::{Asked, Differing};

/// The planned and the actual value.
pub fn text(differing: &Differing) -> String {
    let Differing { what, asked, effective } = differing;
    match (what, effective) {
        (Asked::MountOption, Some(effective)) => {
            format!("the file system was mounted with {effective}, not {asked} as the plan asks")
        }
        (Asked::MountOption, None) => format!(
            "the file system was mounted without {asked}, which the plan asks for: the kernel \
            took the option and dropped it"
        ),
        (Asked::Discards, _) => format!(
            "the file system was mounted with {asked} as the plan asks, but its device takes no \
            discards"
        ),
        (Asked::MkfsOption, Some(effective)) => {
            format!("the file system was made with {effective}, not {asked} as the plan asks")
        }
        (Asked::MkfsOption, None) => {
            format!("the file system was made without {asked}, which the plan asks for")
        }
        (Asked::ExtentSizeHint, effective) => format!(
            "new files had {}, not extsize = {asked} as the plan asks",
            effective.as_ref().map_or_else(
                || "no extent size hint".into(),
                |hint| format!(
                    "an \
                extent size hint of {hint}"
                )
            )
        ),
        (Asked::DirectIo, _) => {
            "the loop device read and wrote its image through the page cache: the file system \
            below knows no direct I/O"
                .into()
        }
        (Asked::ServerCpus, effective) => cpus("the server ran", asked, effective.as_deref()),
        (Asked::LoadCpus, effective) => cpus("the load ran", asked, effective.as_deref()),
        (Asked::DriveCpus, effective) => {
            cpus("the process that serves the drive ran", asked, effective.as_deref())
        }
        (Asked::CpuTime, effective) => format!(
            "a CPU quota left {} CPUs to the {asked} CPUs that the plan asks for; raise the \
            quota of the container or service (cpu.max)",
            effective.as_deref().unwrap_or("fewer")
        ),
        (Asked::PoolOption, effective) => format!(
            "the pool had {}, not {asked} as the plan asks",
            effective.as_deref().unwrap_or("no such option")
        ),
    }
}

fn cpus(who: &str, asked: &str, effective: Option<&str>) -> String {
    format!("{who} on CPUs {}, not {asked} as the plan asks", effective.unwrap_or("none"))
}

/// A few words to stand where the setting is shown, on the layer of the file system; nothing of
/// what belongs elsewhere.
pub fn of_file_system(differing: &Differing) -> Option<String> {
    let Differing { what, asked, effective } = differing;
    Some(match (what, effective) {
        (Asked::MountOption | Asked::MkfsOption, Some(effective)) => {
            format!("in effect: {effective}, not {asked}")
        }
        (Asked::MountOption | Asked::MkfsOption, None) => format!("not in effect: {asked}"),
        (Asked::Discards, _) => format!("not in effect: {asked}, which the device does not take"),
        (Asked::ExtentSizeHint, Some(effective)) => {
            format!("in effect: extsize {effective}, not {asked}")
        }
        (Asked::ExtentSizeHint, None) => format!("not in effect: extsize {asked}"),
        _ => return None,
    })
}

/// The same on the layer of the disk.
pub fn of_disk(differing: &Differing) -> Option<String> {
    let Differing { what, asked, effective } = differing;
    match (what, effective) {
        (Asked::DirectIo, _) => Some("through the page cache, not past it".into()),
        (Asked::PoolOption, Some(effective)) => {
            Some(format!("in effect: {effective}, not {asked}"))
        }
        (Asked::PoolOption, None) => Some(format!("not in effect: {asked}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_told() {
        let told = |what, asked: &str, effective: Option<&str>| {
            text(&Differing::new(what, asked, effective.map(str::to_owned)))
        };
        assert_eq!(
            told(Asked::MountOption, "dax=always", Some("dax=never")),
            "the file system was mounted with dax=never, not dax=always as the plan asks"
        );
        assert!(told(Asked::MountOption, "nobh", None).contains("without nobh"));
        assert_eq!(
            told(Asked::ServerCpus, "0,1,2", Some("0,1")),
            "the server ran on CPUs 0,1, not 0,1,2 as the plan asks"
        );
        assert!(
            told(Asked::ExtentSizeHint, "16K", None)
                .starts_with("new files had no extent size hint, not extsize = 16K")
        );
        assert!(
            told(Asked::CpuTime, "3", Some("1.50"))
                .starts_with("a CPU quota left 1.50 CPUs to the 3 CPUs")
        );
    }
}
