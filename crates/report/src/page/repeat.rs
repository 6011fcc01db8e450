//! The command that makes the runs of a study again, from its plan.

use assay_base::text::shell_word;
use assay_study::Study;

/// The fact of a study that names the server program given with its plan or its command.
const SERVER: &str = "server_asked";

/// With every option that decides what is run; the directory is another machine's own.
pub fn command(study: &Study) -> String {
    let mut words = vec!["assay run plan.toml".to_owned()];
    words.extend(study.form.is_some().then(|| "--quick".to_owned()));
    words.extend(study.facts.get(SERVER).map(|path| format!("--server {}", shell_word(path))));
    words.push("--location DIRECTORY".to_owned());
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_decide_what_is_run_are_in_it() {
        let mut study = Study::default();
        assert_eq!(command(&study), "assay run plan.toml --location DIRECTORY");
        study.form = Some("quick profile".into());
        study.facts.insert(SERVER.into(), "/opt/my sql/mysqld".into());
        assert_eq!(
            command(&study),
            "assay run plan.toml --quick --server '/opt/my sql/mysqld' --location DIRECTORY"
        );
    }
}
