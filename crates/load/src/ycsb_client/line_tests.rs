use super::*;
use crate::mode::Mode;
use crate::recipe::Recipe;
use crate::schedule::{Arrivals, Pace};
use crate::ycsb::{Mix, RequestDistribution};

fn line(words: &str) -> Result<YcsbLine> {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    parse(&words)
}

fn refusal(words: &str) -> String {
    let message = line(words).unwrap_err().to_string();
    assert!(!message.contains('\n'), "{message}");
    message
}

#[test]
fn the_launchers_words_are_taken_as_they_are() {
    let run = line(
        "run jdbc -P workloads/workloada -p recordcount=5000 -p db.url=jdbc:mysql://h:33/y -p \
         db.user=u \
         -p db.driver=com.mysql.cj.jdbc.Driver -cp mysql.jar -threads 8 -target 1000 -s",
    )
    .unwrap();
    assert_eq!(run.command, YcsbCommand::Run);
    assert_eq!((run.load.schema.table_size, run.load.schedule.threads), (5000, 8));
    assert_eq!(run.load.schedule.events, 1000, "the published file's operationcount");
    assert_eq!(run.load.schedule.pace, Pace::Throttled { per_second: 1000.0 });
    assert_eq!((run.load.workload.recipe, run.load.workload.mode), (Recipe::Ycsb, Mode::Compat));
    let half = Mix { read: 0.5, update: 0.5, ..Mix::default() };
    assert_eq!(run.load.workload.ycsb.mix, Some(half));
    assert_eq!(run.load.workload.ycsb.request_distribution, Some(RequestDistribution::Zipfian));
    assert_eq!(run.reporting.status_interval, 10);
    assert_eq!(run.notes.len(), 1, "{:?}", run.notes);
}

#[test]
fn a_load_inserts_all_records_and_a_run_may_end_by_time() {
    let load = line("load -P workloadd -p recordcount=300 -p operationcount=7").unwrap();
    assert_eq!((load.load.workload.recipe, load.load.schedule.events), (Recipe::YcsbLoad, 300));
    let timed = "run -P workloadc -p operationcount=0 -p maxexecutiontime=5 -target 50 -p \
                 assay.arrivals=even";
    let timed = line(timed).unwrap();
    assert_eq!((timed.load.schedule.events, timed.load.schedule.seconds), (0, 5.0));
    assert_eq!(timed.load.schedule.pace, Pace::Rate { per_second: 50.0, arrivals: Arrivals::Even });
    let later = line("run -P workloada -p threadcount=3 -threads 5").unwrap();
    assert_eq!(later.load.schedule.threads, 5, "the option goes before the property");
}

#[test]
fn a_file_is_read_and_what_comes_after_it_counts() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("workloada");
    std::fs::write(
        &file,
        "recordcount=77\noperationcount=9\nfieldlength=400\nreadproportion=1\nupdateproportion=0\n",
    )
    .unwrap();
    let run = line(&format!("run -P {} -p fieldlength=50", file.display())).unwrap();
    assert_eq!((run.load.schema.table_size, run.load.schema.field_length), (77, 50));
    assert!(run.notes.is_empty(), "it is no published file: {:?}", run.notes);
    assert_eq!(run.load.workload.ycsb.request_distribution, None, "the code's own default");
}

#[test]
fn slips_are_named_in_one_line() {
    for (words, told) in [
        ("run -P workloada -p recordcont=5", "`recordcont`, did you mean `recordcount`?"),
        ("run -P nowhere.properties", "cannot read nowhere.properties"),
        ("run", "`recordcount` is missing"),
        ("run -p recordcount=5", "the run has no end"),
        ("-P workloada", "no command is given"),
        ("run load -P workloada", "give one command"),
        ("run mongodb -P workloada", "unexpected word `mongodb`"),
        ("run -P workloada -p", "`-p` needs a property"),
        ("run -P workloada -p x", "has no `=`"),
        ("run -P workloada -thread 4", "unknown option `-thread`"),
        ("run -P workloada -p requestdistribution=zipf", "none of uniform, zipfian"),
        ("run -P workloada -p dataintegrity=true", "`dataintegrity=true` is not supported"),
        ("run -P workloada -p assay.arrivals=even", "needs a rate"),
        ("run -P workloada -db site.ycsb.BasicDB", "`db=site.ycsb.BasicDB` is not built"),
        ("run -P workloada -p dotransactions=false", "give the command load"),
        ("load -P workloada -p dotransactions=true", "give the command run"),
        ("run -P workloada -p insertcount=10", "`insertcount` other than `recordcount`"),
        ("run -P workloada -p fieldnameprefix=f", "`fieldnameprefix=f` is not supported"),
        ("run -P workloada -p measurementtype=row", "none of hdrhistogram, histogram,"),
        ("run -P workloada -p timeseries.granularity=0", "is no length"),
        ("run -P workloada -p workload=x.Y", "`workload=x.Y` is not built"),
        ("run -P workloada -p readproportion=0 -p updateproportion=0", "no operations"),
        ("load -P workloada -p insertcount=2000", "above `recordcount`"),
        ("run -P workloada -threads x", "`threadcount=x` is not a valid number"),
    ] {
        let message = refusal(words);
        assert!(message.contains(told), "{words}: {message}");
    }
}

#[test]
fn help_needs_nothing_else() {
    assert_eq!(line("help").unwrap().command, YcsbCommand::Help);
    assert_eq!(line("run -P workloada --help").unwrap().command, YcsbCommand::Help);
    assert_eq!(line("cleanup -p table=t").unwrap().load.schema.table(1), "t");
}
