//! A workload of a plan: statements on tables of a server, or operations on files, which need no
//! server.
//!
//! The recipe `fileio` is the one of files; each kind takes its own keys alone.

use anyhow::Result;
use assay_load::fileio::FILEIO;
use assay_load::{Fileio, Workload};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};
use toml::{Table, Value};

/// A workload of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkloadSpec {
    /// Statements on the plan's tables.
    Server(Workload),
    /// Operations on files of the rig's file system.
    Files(Fileio),
}

impl WorkloadSpec {
    #[must_use]
    pub fn recipe(&self) -> &'static str {
        match self {
            WorkloadSpec::Server(workload) => workload.recipe.name(),
            WorkloadSpec::Files(_) => FILEIO,
        }
    }

    /// The statements, if the workload needs a server.
    #[must_use]
    pub fn server(&self) -> Option<&Workload> {
        match self {
            WorkloadSpec::Server(workload) => Some(workload),
            WorkloadSpec::Files(_) => None,
        }
    }

    /// The operations, if the workload uses files.
    #[must_use]
    pub fn files(&self) -> Option<&Fileio> {
        match self {
            WorkloadSpec::Server(_) => None,
            WorkloadSpec::Files(fileio) => Some(fileio),
        }
    }

    /// Checks that the options go together.
    ///
    /// # Errors
    /// One line with what to change.
    pub fn check(&self) -> Result<()> {
        match self {
            WorkloadSpec::Server(workload) => workload.check()?,
            WorkloadSpec::Files(fileio) => {
                fileio.check()?;
                fileio.test_mode()?;
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for WorkloadSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WorkloadSpec, D::Error> {
        let mut keys = Table::deserialize(deserializer)?;
        let refused = |error: toml::de::Error| D::Error::custom(error.message());
        if keys.get("recipe").and_then(Value::as_str) != Some(FILEIO) {
            return Workload::deserialize(keys).map(WorkloadSpec::Server).map_err(refused);
        }
        keys.remove("recipe");
        Fileio::deserialize(keys).map(WorkloadSpec::Files).map_err(refused)
    }
}

impl Serialize for WorkloadSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Files<'a> {
            recipe: &'static str,
            #[serde(flatten)]
            fileio: &'a Fileio,
        }
        match self {
            WorkloadSpec::Server(workload) => workload.serialize(serializer),
            WorkloadSpec::Files(fileio) => Files { recipe: FILEIO, fileio }.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;
    use assay_load::fileio::{ExtraFlag, TestMode};

    fn plan(workload: &str, more: &str) -> Result<Plan> {
        Plan::parse(&format!(
            "title = \"t\"\nthreads = [1]\nseconds = \
            1\n{more}\n[workloads.w]\n{workload}\n[configs.a]\n"
        ))
    }

    fn refusal(workload: &str, more: &str) -> String {
        format!("{:#}", plan(workload, more).unwrap_err())
    }

    #[test]
    fn the_recipe_says_which_keys_there_are() {
        let files = "recipe = \"fileio\"\nfile_test_mode = \"rndrw\"\nfile_num = \
            4\nfile_total_size = \"64M\"\n\
                     file_extra_flags = [\"direct\"]";
        let read = plan(files, "").unwrap();
        let Some(fileio) = read.workloads["w"].files() else { panic!("it is of files") };
        assert_eq!((fileio.file_num, fileio.file_test_mode), (4, Some(TestMode::Rndrw)));
        assert_eq!(fileio.file_extra_flags, [ExtraFlag::Direct]);
        assert!(!read.needs_server());
        let read = plan("recipe = \"oltp_read_only\"\npoint_selects = 3", "").unwrap();
        assert_eq!(read.workloads["w"].server().unwrap().point_selects, 3);
        assert!(read.needs_server());
    }

    #[test]
    fn a_plan_written_out_reads_as_it_was() {
        for workload in [
            "recipe = \"fileio\"\nfile_test_mode = \"seqwr\"\nvalidate = true",
            "recipe = \"oltp_insert\"",
        ] {
            let read = plan(workload, "").unwrap();
            let again = toml::to_string(&read.workloads["w"]).unwrap();
            assert_eq!(plan(&again, "").unwrap().workloads, read.workloads, "{again}");
        }
    }

    #[test]
    fn keys_of_the_other_kind_and_slips_are_refused_in_one_line() {
        let files = "recipe = \"fileio\"\nfile_test_mode = \"rndrd\"";
        for (workload, more, said) in [
            (
                "recipe = \"fileio\"",
                "",
                "workload `w`: file_test_mode is missing; give one of seqwr",
            ),
            (&format!("{files}\npoint_selects = 3"), "", "unknown key `point_selects`"),
            (
                &format!("{files}\nfile_nmu = 3"),
                "",
                "unknown key `file_nmu`; did you mean `file_num`?",
            ),
            (&format!("{files}\nfile_num = 3"), "", "no multiple of 3 files"),
            (&format!("{files}\nfile_io_mode = \"mmap\""), "", "`mmap` is not built"),
            ("recipe = \"oltp_insert\"\nfile_num = 3", "", "unknown key `file_num`"),
            ("recipe = \"fileoi\"", "", "unknown value `fileoi`"),
            (
                files,
                "[settings]\nsync_binlog = 1",
                "no workload needs a server, but settings is given; remove it",
            ),
            (
                files,
                "[data]\ntables = 9",
                "no workload needs a server, but data is given; remove it",
            ),
        ] {
            let told = refusal(workload, more);
            assert!(told.contains(said), "{said}: {told}");
            assert!(!told.contains('\n'));
        }
    }
}
