//! The published workload files by their names, for users without the files.

/// The properties of `workloada` to `workloadf`; `None` for another name.
pub(super) fn of(name: &str) -> Option<String> {
    let shares = match name.strip_prefix("workload")? {
        "a" => "readproportion=0.5\nupdateproportion=0.5\nrequestdistribution=zipfian",
        "b" => "readproportion=0.95\nupdateproportion=0.05\nrequestdistribution=zipfian",
        "c" => "readproportion=1\nrequestdistribution=zipfian",
        "d" => "readproportion=0.95\ninsertproportion=0.05\nrequestdistribution=latest",
        "e" => {
            "scanproportion=0.95\ninsertproportion=0.05\nrequestdistribution=zipfian\n\
             maxscanlength=100"
        }
        "f" => "readproportion=0.5\nreadmodifywriteproportion=0.5\nrequestdistribution=zipfian",
        _ => return None,
    };
    let all = ["readproportion", "updateproportion", "scanproportion", "insertproportion"];
    let others = all.map(|share| format!("{share}=0\n")).concat();
    Some(format!("recordcount=1000\noperationcount=1000\n{others}{shares}\n"))
}
