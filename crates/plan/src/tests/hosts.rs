//! Plans across several machines.

use super::*;
use crate::shipped;

fn across(keys: &str, hosts: &[&str]) -> String {
    let hosts: String =
        hosts.iter().map(|name| format!("[hosts.{name}]\nssh = \"ann@{name}\"\n")).collect();
    let plan = PLAN.replacen("repeats = 3\n", &format!("repeats = 3\n{keys}\n"), 1);
    format!("{plan}{hosts}")
}

#[test]
fn server_and_load_are_each_where_the_plan_says() {
    let keys = "server_host = \"db\"\nload_hosts = [\"b\", \"a\"]";
    let text = across(keys, &["a", "db", "b"]).replace("threads = [1, 8]", "threads = [8]");
    let plan = Plan::parse(&text).unwrap();
    assert_eq!(plan.server_host().unwrap().ssh, "ann@db");
    let from: Vec<&str> = plan.load_hosts().iter().map(|host| host.ssh.as_str()).collect();
    assert_eq!(from, ["ann@b", "ann@a"], "in the plan's order");
    assert!(plan.is_load_apart() && !Plan::parse(PLAN).unwrap().is_load_apart());
    let fingerprint = |text: &str| trials(&Plan::parse(text).unwrap())[0].fingerprint.clone();
    let one = across("server_host = \"db\"", &["db"]);
    assert_ne!(fingerprint(&one), fingerprint(PLAN), "another machine may give another result");
    assert_ne!(fingerprint(&one), fingerprint(&one.replace("ann@db", "ann@db2")));
}

#[test]
fn what_cannot_be_across_machines_is_refused_with_what_to_do() {
    let error_of = |keys: &str, hosts: &[&str]| error(&across(keys, hosts));
    assert!(error_of("", &["db"]).contains("hosts.db has no part in the study"));
    let unknown = error_of("server_host = \"bd\"", &["db"]);
    assert!(unknown.contains("hosts.db has no part"), "{unknown}");
    let unknown = error_of("load_hosts = [\"db\", \"db1\"]", &["db"]);
    assert!(
        unknown.contains("load_hosts: there is no host `db1`; did you mean `db`?"),
        "{unknown}"
    );
    assert!(error_of("load_hosts = [\"a\", \"a\"]", &["a"]).contains("names `a` twice"));
    let both = error_of("server_host = \"a\"\nload_hosts = [\"a\"]", &["a"]);
    assert!(both.contains("omit it from one of them"), "{both}");
    let bad = across("server_host = \"db\"", &["db"]).replace("ann@db", "-oX");
    assert!(error(&bad).starts_with("hosts.db: `-oX` is no host"), "{}", error(&bad));
    let own = across("server_host = \"db\"", &["db"]);
    let several = own.replace("[configs.on]\n", "[configs.on]\nservers = 2\n");
    assert!(error(&several).contains("servers is more than 1"), "{}", error(&several));
    let placed = format!("{own}[placement]\nload_cpus = \"0\"\n");
    assert!(error(&placed).contains("omit load_cpus"), "{}", error(&placed));
    let text = format!("{own}[data]\nschema = \"text\"\ntext = \"book.txt\"\n");
    assert!(error(&text).contains("give its full path"), "{}", error(&text));
    let few = error_of("load_hosts = [\"a\", \"b\"]", &["a", "b"]);
    assert!(few.contains("threads has 1, and there are 2 load_hosts"), "{few}");
    let steady = error_of(
        "warmup_seconds = 9\nwarmup_until_steady = true\nload_hosts = [\"a\", \"b\"]",
        &["a", "b"],
    );
    assert!(steady.contains("cannot agree on a steady state"), "{steady}");
    let files = "title = \"t\"\nthreads = [1]\nseconds = 1\nload_hosts = [\"a\"]\n[hosts.a]\nssh \
        = \"a\"\n[workloads.w]\n\
                 recipe = \"fileio\"\nfile_test_mode = \"rndrd\"\n[configs.c]\n";
    assert!(error(files).contains("load_hosts does not support"), "{}", error(files));
}

#[test]
fn a_plan_that_was_sent_is_the_same_plan() {
    let mut texts: Vec<String> = vec![PLAN.into()];
    texts.extend(shipped::PLANS.iter().map(|(_, text)| (*text).to_owned()));
    for text in texts {
        for plan in forms(&text) {
            let experiment = Experiment::of(plan).unwrap();
            let sent = experiment.to_be_sent().unwrap();
            let received = Experiment::received(&sent).unwrap();
            assert_eq!(received.to_be_sent().unwrap(), sent);
            assert_eq!(received.trials(), experiment.trials(), "in the same order");
        }
    }
}

fn forms(text: &str) -> Vec<Plan> {
    let Forms { full, quick } = Forms::parse(text).unwrap();
    std::iter::once(full).chain(quick).collect()
}
