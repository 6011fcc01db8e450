//! Planned differences that the runs did not have: a comparison shows nothing about them.
//!
//! Guarantees: only values read back from server and machine are called alike; unknown values count
//! as different.

use std::collections::BTreeSet;

use assay_study::effective::is_as_asked;
use assay_study::switches::{asks_for_nothing, canonical};
use assay_study::{
    AskedPair, Config, InEffect, Media, Pool, PoolCluster, RigRecord, Study, Warning,
};

use crate::comparisons::questions::{self, named};
use crate::figures::format::list;
use crate::input::Variables;

/// The longest value that is told.
const VALUE_SIGNS: usize = 40;

/// A study with what its servers told.
#[derive(Clone, Copy)]
pub(crate) struct Ran<'a> {
    pub(crate) study: &'a Study,
    pub(crate) variables: &'a Variables,
}

/// Something that both sides of a comparison ran with alike.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Alike {
    /// A server setting, with the value.
    Setting(String, String),
    /// Options of `mkfs`, as each side asks for them.
    Mkfs([String; 2]),
    /// Mount options, as each side asks for them.
    Mount([String; 2]),
    /// The extent size hint.
    ExtentSize,
    /// The pool's options.
    Pool,
}

/// Planned differences between two configurations.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    alike: Vec<Alike>,
    /// Whether they differ in anything that was asked for, or may.
    has_difference: bool,
}

/// Warnings before any figure: a sentence for each pair that the plan asks about and whose planned
/// differences are all absent.
pub(crate) fn before_all(ran: Ran<'_>) -> Vec<String> {
    let has_overlays = !ran.study.overlays().is_empty();
    let of_pair = |[config, against]: [&Config; 2]| {
        let Found { alike, has_difference: false } = ran.found(config, against) else {
            return None;
        };
        // Whoever gives one configuration two names knows; an overlay does it unseen.
        if alike.is_empty() && has_overlays && !questions::is_aa_run(ran.study, config) {
            return Some(format!(
                "{} and {} are the same with the overlays of this study: a difference between \
                them is chance.",
                named(&config.name),
                named(&against.name)
            ));
        }
        (!alike.is_empty()).then(|| {
            format!(
                "{} and {} ran alike in all that the plan asks them to differ in ({}), so they \
                are no comparison of it.",
                named(&config.name),
                named(&against.name),
                list(&alike.iter().map(Alike::text).collect::<Vec<_>>())
            )
        })
    };
    ran.pairs().into_iter().filter_map(of_pair).collect()
}

/// A sentence for each thing that the comparisons show nothing of.
pub(crate) fn sentences(ran: Ran<'_>) -> Vec<String> {
    let pairs = ran.pairs();
    let found: Vec<Found> =
        pairs.iter().map(|[config, against]| ran.found(config, against)).collect();
    let mut all: Vec<&Alike> = Vec::new();
    for one in found.iter().flat_map(|found| &found.alike) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    let told = |one: &Alike| {
        let its = pairs.iter().zip(&found).filter(|(_, found)| found.alike.contains(one));
        let its: Vec<String> = its
            .map(|([config, against], _)| {
                format!("{} and {}", named(&config.name), named(&against.name))
            })
            .collect();
        let what = one.text();
        match its.len() == pairs.len() {
            true => format!(
                "the plan asks the configurations to differ in {}, but they ran alike ({what}): \
                this study does not compare it",
                one.name()
            ),
            false => format!(
                "the plan asks {} to differ in {}, but they ran alike ({what}): comparing them \
                shows nothing of it",
                list(&its),
                one.name()
            ),
        }
    };
    all.into_iter().map(told).collect()
}

impl Alike {
    fn name(&self) -> &str {
        match self {
            Alike::Setting(name, _) => name,
            Alike::Mkfs(_) => "the options of mkfs",
            Alike::Mount(_) => "the mount options",
            Alike::ExtentSize => "the extent size hint",
            Alike::Pool => "the options of the pool",
        }
    }

    /// With what both had, where that is short, or with what each asked for.
    fn text(&self) -> String {
        match self {
            Alike::Setting(name, value) if value.chars().count() <= VALUE_SIGNS => {
                format!("{name} = {value}")
            }
            Alike::Setting(name, _) => name.clone(),
            Alike::Mkfs([a, b]) => format!("mkfs {a} against {b}"),
            Alike::Mount([a, b]) => format!("mount options {a} against {b}"),
            Alike::ExtentSize => "extent size hint".into(),
            Alike::Pool => "options of the pool".into(),
        }
    }
}

impl<'a> Ran<'a> {
    /// The pairs that the plan asks about: those that it names, else every configuration against
    /// the baseline.
    fn pairs(self) -> Vec<[&'a Config; 2]> {
        let study = self.study;
        let config = |name: &str| study.configs.iter().find(|config| config.name == name);
        // Sides that differ in their data have that difference.
        let has_same_data = |pair: &&AskedPair| {
            pair.against_data_profile.is_none() || pair.against_data_profile == pair.data_profile
        };
        if !study.judging.compare.is_empty() {
            let asked = study.judging.compare.iter().filter(has_same_data);
            let pairs =
                asked.filter_map(|pair| Some([config(&pair.config)?, config(&pair.against)?]));
            return pairs.fold(Vec::new(), |mut all: Vec<[&Config; 2]>, pair| {
                let is_known = |one: &[&Config; 2]| {
                    (&one[0].name, &one[1].name) == (&pair[0].name, &pair[1].name)
                };
                if !all.iter().any(is_known) {
                    all.push(pair);
                }
                all
            });
        }
        let base = study.judging.baseline.as_deref().and_then(config).or(study.configs.first());
        let others = study.configs.iter().filter(|one| !questions::is_aa_run(study, one));
        let pair =
            |one: &'a Config| base.filter(|base| base.name != one.name).map(|base| [one, base]);
        others.filter_map(pair).collect()
    }

    fn found(self, one: &Config, other: &Config) -> Found {
        let mut found = Found::default();
        let names: BTreeSet<String> = [one, other].into_iter().flat_map(asked_names).collect();
        for name in names {
            self.compare_setting(&name, [one, other], &mut found);
        }
        compare_rigs([&one.rig, &other.rig], &mut found);
        found
    }

    fn compare_setting(self, name: &str, sides: [&Config; 2], found: &mut Found) {
        let [a, b] = sides.map(|config| asked(config, name));
        if let (Some(a), Some(b)) = (a, b)
            && is_same(a, b)
        {
            return;
        }
        let [ran_a, ran_b] = sides.map(|config| self.effective(config, name));
        match (ran_a, ran_b) {
            (Some(a), Some(b)) if is_same(a, b) => {
                found.alike.push(Alike::Setting(name.to_owned(), b.to_owned()));
            }
            _ => found.has_difference = true,
        }
    }

    /// Value that its servers report; else the value that a run recorded, else the planned one.
    fn effective(self, config: &'a Config, name: &str) -> Option<&'a str> {
        let place = self.study.configs.iter().position(|one| one.name == config.name)?;
        let mut told = self.variables.get(place).into_iter().flatten().map(|set| set.get(name));
        if let Some(first) = told.next() {
            return first.filter(|first| told.all(|one| one == Some(*first))).map(String::as_str);
        }
        self.changed(config, name).or_else(|| asked(config, name))
    }

    /// The value that its server took in place of the one asked for.
    fn changed(self, config: &Config, name: &str) -> Option<&'a str> {
        let its = self.study.trials.iter().filter(|trial| trial.key.config == config.name);
        its.flat_map(|trial| &trial.warnings).find_map(|one| match one {
            Warning::SettingDiffers { name: one, effective, .. } if one == name => {
                Some(effective.as_str())
            }
            _ => None,
        })
    }
}

/// Two spellings of one value. The number of a word and the word are none, as which is whose is not
/// known.
fn is_same(a: &str, b: &str) -> bool {
    is_as_asked(a, b) && is_as_asked(b, a)
}

/// Names of settings that ask for something, as `SHOW VARIABLES` prints them.
fn asked_names(config: &Config) -> impl Iterator<Item = String> {
    let its = config.settings.iter().filter(|(name, value)| !asks_for_nothing(name, value));
    its.map(|(name, _)| canonical(name))
}

fn asked<'a>(config: &'a Config, name: &str) -> Option<&'a str> {
    let mut its = config.settings.iter().filter(|(one, value)| !asks_for_nothing(one, value));
    its.find(|(one, _)| canonical(one) == name).map(|(_, value)| value.as_str())
}

fn compare_rigs([a, b]: [&RigRecord; 2], found: &mut Found) {
    let in_effect = a.in_effect.as_ref().zip(b.in_effect.as_ref());
    let is =
        |alike: &dyn Fn(&InEffect, &InEffect) -> bool| in_effect.is_some_and(|(a, b)| alike(a, b));
    let mut compare = |is_asked: bool, is_alike: bool, what: Alike| match (is_asked, is_alike) {
        (false, _) => {}
        (true, true) => found.alike.push(what),
        (true, false) => found.has_difference = true,
    };
    if let (Some(a), Some(b)) = (&a.file_system, &b.file_system) {
        let mkfs = [a, b].map(|one| or_none(one.mkfs_options.join(" ")));
        let mount = [a, b].map(|one| or_none(one.mount_options.join(",")));
        compare(mkfs[0] != mkfs[1], is(&InEffect::is_made_like), Alike::Mkfs(mkfs));
        compare(mount[0] != mount[1], is(&InEffect::is_mounted_like), Alike::Mount(mount));
        let has_same_hint = is(&|a, b| a.extsize_bytes == b.extsize_bytes);
        compare(a.extsize_bytes != b.extsize_bytes, has_same_hint, Alike::ExtentSize);
    }
    let [pool_a, pool_b] = [a, b].map(|rig| rig.disk.as_ref().and_then(|disk| disk.pool()));
    let has_same_pool = is(&|a, b| !a.pool.is_empty() && a.pool == b.pool);
    compare(pool_a != pool_b, has_same_pool, Alike::Pool);
    let rest = [a, b].map(rest);
    found.has_difference |= rest[0] != rest[1];
}

fn or_none(options: String) -> String {
    if options.is_empty() { "none".into() } else { options }
}

/// All that is never called alike where it was asked to differ: the kind of disk and of file
/// system, the server, the tables.
fn rest(rig: &RigRecord) -> RigRecord {
    let media = rig.disk.as_ref().map(|disk| match disk.media.clone() {
        Media::Pool(pool) => Media::Pool(without_options(pool)),
        Media::Drive(mut drive) => {
            drive.pool = drive.pool.map(without_options);
            Media::Drive(drive)
        }
        other => other,
    });
    let disk = media.map(|media| assay_study::DiskRecord { media, ..Default::default() });
    let name = |made: &assay_study::FileSystem| assay_study::FileSystem {
        name: made.name.clone(),
        ..Default::default()
    };
    RigRecord {
        disk,
        file_system: rig.file_system.as_ref().map(name),
        in_effect: None,
        ..rig.clone()
    }
}

/// The options are compared by themselves; where the cluster is, how many stores it has and how
/// large the image is are not among them.
fn without_options(pool: Pool) -> Pool {
    let cluster = match pool.cluster {
        PoolCluster::Private { stores, protection, .. } => PoolCluster::Private {
            stores,
            protection,
            compression: None,
            image_iops: None,
            image_bytes_per_s: None,
        },
        existing @ PoolCluster::Existing { .. } => existing,
    };
    Pool { cluster, ..pool }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_study::{FileSystem, Trial, TrialKey};

    use super::*;

    const INSTANCES: &str = "innodb_buffer_pool_instances";

    fn config(name: &str, settings: &[(&str, &str)]) -> Config {
        let settings = settings.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Config { name: name.into(), rig: RigRecord::default(), settings }
    }

    fn told(pairs: &[(&str, &str)]) -> Vec<BTreeMap<String, String>> {
        vec![pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()]
    }

    /// The sentences of the headline and of the caveats.
    fn of(
        configs: Vec<Config>,
        variables: &Variables,
        compare: &[(&str, &str)],
    ) -> [Vec<String>; 2] {
        let mut study = Study { configs, ..Study::default() };
        study.judging.compare = compare
            .iter()
            .map(|(config, against)| AskedPair {
                config: (*config).into(),
                against: (*against).into(),
                ..AskedPair::default()
            })
            .collect();
        let ran = Ran { study: &study, variables };
        [before_all(ran), sentences(ran)]
    }

    #[test]
    fn a_setting_that_both_servers_took_alike_is_told_first() {
        let configs =
            || vec![config("one", &[(INSTANCES, "1")]), config("eight", &[(INSTANCES, "8")])];
        let alike = [told(&[(INSTANCES, "1")]), told(&[(INSTANCES, "1")])];
        let [first, caveats] = of(configs(), &alike, &[("eight", "one")]);
        assert_eq!(
            first,
            [format!(
                "eight and one ran alike in all that the plan asks them to differ in \
                ({INSTANCES} = 1), so they are no comparison of it."
            )]
        );
        assert!(caveats[0].ends_with("this study does not compare it"), "{caveats:?}");
        let unlike = [told(&[(INSTANCES, "1")]), told(&[(INSTANCES, "8")])];
        assert_eq!(of(configs(), &unlike, &[("eight", "one")]), [[""; 0]; 2]);
        assert_eq!(of(configs(), &alike, &[]), of(configs(), &alike, &[("eight", "one")]));
        assert_eq!(of(configs(), &[], &[]), [[""; 0]; 2], "as asked where nothing else is known");
    }

    #[test]
    fn what_an_overlay_makes_the_same_is_told_first() {
        let configs = || vec![config("on", &[("a", "1")]), config("off", &[("a", "1")])];
        let study =
            |plan: &str| Study { configs: configs(), plan_toml: plan.into(), ..Study::default() };
        let first = |plan: &str| before_all(Ran { study: &study(plan), variables: &[] });
        let told = first("[[overlays]]\nname = \"mine\"\n");
        assert!(told[0].starts_with("off and on are the same with the overlays"), "{told:?}");
        assert_eq!(first(""), [""; 0], "two names that a plan gives itself");
    }

    #[test]
    fn a_setting_that_was_the_default_all_the_time_is_no_difference() {
        let configs = || vec![config("plain", &[]), config("on", &[("innodb-doublewrite", "1")])];
        let on = [("innodb_doublewrite", "ON")];
        let [first, _] = of(configs(), &[told(&on), told(&on)], &[]);
        assert!(first[0].contains("(innodb_doublewrite = ON)"), "{first:?}");
        let off = told(&[("innodb_doublewrite", "OFF")]);
        assert_eq!(of(configs(), &[off, told(&on)], &[]), [[""; 0]; 2]);
        let none = [told(&[("x", "1")]), told(&[("x", "1")])];
        assert_eq!(of(configs(), &none, &[]), [[""; 0]; 2], "no variable tells");
    }

    #[test]
    fn what_may_be_another_value_is_a_difference() {
        let checksum = "innodb_checksum_algorithm";
        for (a, b, are_same) in [
            ("3", "strict_crc32", false),
            ("OFF", "1", false),
            ("binlog", "ON", false),
            ("1", "ON", true),
            ("64M", "67108864", true),
        ] {
            assert_eq!(is_same(a, b), are_same, "{a} {b}");
            assert_eq!(is_same(b, a), are_same, "{b} {a}");
        }
        let configs = vec![
            config("a", &[(checksum, "3"), (INSTANCES, "1")]),
            config("b", &[(checksum, "strict_crc32"), (INSTANCES, "8")]),
        ];
        let both = |word: &str| told(&[(INSTANCES, "1"), (checksum, word)]);
        let [first, caveats] = of(configs, &[both("crc32"), both("strict_crc32")], &[]);
        assert_eq!((first.len(), caveats.len()), (0, 1), "{first:?} {caveats:?}");
    }

    #[test]
    fn what_a_run_tells_stands_for_variables_that_nobody_kept() {
        let mut study = Study {
            configs: vec![config("one", &[(INSTANCES, "1")]), config("eight", &[(INSTANCES, "8")])],
            ..Study::default()
        };
        let key = TrialKey { config: "eight".into(), workload: "rw".into(), threads: 1, repeat: 1 };
        let mut trial = Trial::done(key, &[]);
        trial.warnings.push(Warning::SettingDiffers {
            name: INSTANCES.into(),
            asked: "8".into(),
            effective: "1".into(),
        });
        study.trials.push(trial);
        assert_eq!(before_all(Ran { study: &study, variables: &[] }).len(), 1);
        study.trials.clear();
        assert_eq!(before_all(Ran { study: &study, variables: &[] }), [""; 0]);
    }

    fn mounted(name: &str, asked: &[&str], told: &[&str]) -> Config {
        let text = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        let file_system =
            FileSystem { name: "ext4".into(), mount_options: text(asked), ..FileSystem::default() };
        let in_effect = InEffect { mount_options: text(told), ..InEffect::default() };
        let rig = RigRecord {
            file_system: Some(file_system),
            in_effect: Some(in_effect),
            ..RigRecord::default()
        };
        Config { name: name.into(), rig, settings: [].into() }
    }

    #[test]
    fn mount_options_that_the_kernel_dropped_make_no_comparison() {
        let pair =
            |told: &[&str]| vec![mounted("plain", &[], &["rw"]), mounted("nobh", &["nobh"], told)];
        let [first, caveats] = of(pair(&["rw"]), &[], &[]);
        assert!(first[0].contains("(mount options nobh against none)"), "{first:?}");
        assert_eq!(caveats.len(), 1);
        assert_eq!(of(pair(&["rw", "nobh"]), &[], &[]), [[""; 0]; 2]);
        assert_eq!(of(pair(&[]), &[], &[]), [[""; 0]; 2], "nothing was read back");
    }

    #[test]
    fn a_pair_that_differs_in_something_keeps_its_verdict_and_has_a_caveat() {
        let mut nobh = mounted("nobh", &["nobh"], &["rw"]);
        nobh.settings = [("sync_binlog".to_owned(), "0".to_owned())].into();
        let mut plain = mounted("plain", &[], &["rw"]);
        plain.settings = [("sync_binlog".to_owned(), "1".to_owned())].into();
        let xfs = mounted("other", &["nobarrier"], &["rw", "nobarrier"]);
        let [first, caveats] = of(vec![plain, nobh, xfs], &[], &[]);
        assert_eq!(first, [""; 0]);
        assert_eq!(caveats.len(), 1);
        assert!(
            caveats[0].starts_with("the plan asks nobh and plain to differ in the mount options")
        );
    }

    #[test]
    fn sides_that_are_to_differ_in_nothing_are_not_told() {
        assert_eq!(of(vec![config("a", &[]), config("b", &[])], &[], &[]), [[""; 0]; 2]);
    }
}
