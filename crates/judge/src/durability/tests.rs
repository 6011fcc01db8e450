//! Every variant of every setting, and pairs that differ in one thing alone.

use std::collections::BTreeMap;

use super::*;
use assay_study::{Atomic, CacheDurability, DiskRecord, DriveRecord, Media, Model};

type Names = BTreeMap<String, String>;

fn names(text: &str) -> Names {
    let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.into(), value.into()));
    text.split_whitespace().filter_map(pair).collect()
}

/// A MySQL that is as safe as it can be, of a version whose recovery was not tried, with these
/// variables changed.
fn mysql(changed: &str) -> Names {
    let mut all = names(
        "version=9.7.0 innodb_doublewrite=ON innodb_flush_log_at_trx_commit=1 \
         innodb_flush_log_at_timeout=1 log_bin=ON \
         sync_binlog=1 innodb_flush_method=O_DIRECT innodb_checksum_algorithm=crc32 \
         innodb_log_checksums=ON \
         innodb_page_size=16384",
    );
    all.extend(names(changed));
    all
}

fn mariadb(changed: &str) -> Names {
    let mut all = names(
        "version=10.11.19-MariaDB innodb_doublewrite=ON innodb_flush_log_at_trx_commit=1 \
         log_bin=OFF sync_binlog=0 \
         innodb_flush_method=O_DIRECT innodb_checksum_algorithm=full_crc32 innodb_page_size=16384",
    );
    all.extend(names(changed));
    all
}

fn image() -> DiskRecord {
    let media = Media::Image { bytes: 1 << 30, directory: "/data".into() };
    DiskRecord { media, kernel_cache: Some("write back".into()), ..DiskRecord::default() }
}

fn drive(keeps_pages_together: bool) -> DiskRecord {
    let atomic_write_bytes = Some(Atomic { bytes: 256 << 10, by_format: true });
    let media = Media::Drive(DriveRecord::default());
    DiskRecord { media, atomic_write_bytes, keeps_pages_together, ..DiskRecord::default() }
}

fn model(cache: CacheDurability, vouched: bool) -> DiskRecord {
    DiskRecord {
        media: Media::Model(Model::default()),
        atomic_write_bytes: vouched.then_some(Atomic { bytes: 16 << 10, by_format: false }),
        keeps_pages_together: true,
        cache: Some(cache),
        ..DiskRecord::default()
    }
}

fn of(variables: &Names, disk: &DiskRecord) -> Durability {
    of_config(&Names::new(), Some(variables), Some(disk))
}

#[test]
fn every_setting_of_the_doublewrite_buffer_on_a_plain_disk() {
    for (value, pages) in [
        ("ON", Pages::TwiceNotTried),
        ("on", Pages::TwiceNotTried),
        ("1", Pages::TwiceNotTried),
        ("DETECT_AND_RECOVER", Pages::TwiceNotTried),
        ("DETECT_ONLY", Pages::Single),
        ("OFF", Pages::Single),
        ("0", Pages::Single),
        ("FALSE", Pages::Single),
    ] {
        let found = of(&mysql(&format!("innodb_doublewrite={value}")), &image());
        assert_eq!(found.pages, pages, "{value}");
        let is_single = pages == Pages::Single;
        let class = if is_single { Class::PagesAtRisk } else { Class::ReliesOnRecovery };
        assert_eq!(found.class, class, "{value}");
    }
    let on = of(&mysql(""), &image());
    assert_eq!(on.kept(), Kept::Of(PageSafety::ReliesOnRecovery, Lag::None));
    let off = of(&mysql("innodb_doublewrite=OFF"), &image());
    assert_eq!(off.kept(), Kept::Of(PageSafety::AtRisk, Lag::None));
    let detected = of(&mysql("innodb_doublewrite=DETECT_ONLY"), &image());
    assert!(detected.notes.contains(&DurabilityNote::TornPagesNotMended), "{detected:?}");
}

#[test]
fn a_doublewrite_buffer_is_as_good_as_the_recovery_of_that_version() {
    let mysql = |version: &str| mysql(&format!("version={version}"));
    for (variables, pages, class) in [
        (mysql("9.7.4-2"), Pages::TwiceRestoredWrong, Class::PagesAtRisk),
        (mysql("8.0.36"), Pages::TwiceNotTried, Class::ReliesOnRecovery),
        (mariadb(""), Pages::WrittenTwice, Class::Safe),
        (mariadb("version=11.8.3-MariaDB"), Pages::TwiceNotTried, Class::ReliesOnRecovery),
    ] {
        let found = of(&variables, &image());
        assert_eq!((found.pages, found.class), (pages, class), "{variables:?}");
        // A disk that tears no page leaves nothing to recover.
        let whole = of(&variables, &drive(true));
        assert_eq!((whole.pages, whole.class), (Pages::WrittenTwice, Class::Safe));
        let split = of(&variables, &drive(false));
        assert_eq!(split.pages, pages, "the file system splits them");
    }
    let at_risk = of(&mysql("9.7.4"), &image());
    assert_eq!(at_risk.kept(), Kept::Of(PageSafety::AtRiskInRecovery, Lag::None));
    // The server's fault is no bargain: the two may be compared.
    let whole = of(&mysql("9.7.4"), &drive(true));
    assert_eq!(at_risk.unlike(&whole), []);
    let off = of(&names("version=9.7.4 innodb_doublewrite=OFF"), &image());
    assert_ne!(at_risk.unlike(&off), []);
}

#[test]
fn fast_copies_of_mariadb_help_past_the_page_cache_alone() {
    let fast = |more: &str| of(&mariadb(&format!("innodb_doublewrite=fast {more}")), &image());
    assert_eq!(fast("").class, Class::Safe);
    assert!(!fast("").notes.is_empty(), "it hangs on all files being on one device");
    assert_eq!(fast("innodb_flush_method=fsync").class, Class::PagesAtRisk);
    assert_eq!(fast("innodb_data_file_buffering=OFF").class, Class::Safe);
    assert_eq!(fast("innodb_data_file_buffering=ON").class, Class::PagesAtRisk);
}

#[test]
fn one_write_is_as_safe_as_disk_file_system_and_page_cache_together() {
    let off = |more: &str| mysql(&format!("innodb_doublewrite=OFF {more}"));
    for (disk, more, pages) in [
        (drive(true), "", Pages::WrittenWhole),
        (drive(false), "", Pages::MaySplit),
        (drive(true), "innodb_flush_method=fsync", Pages::MaySplit),
        (drive(true), "innodb_page_size=32768", Pages::MaySplit),
        (model(CacheDurability::Protected, true), "", Pages::AtomicByDevice),
        (model(CacheDurability::Protected, true), "innodb_page_size=32768", Pages::Single),
        (model(CacheDurability::Protected, false), "", Pages::Single),
        (image(), "", Pages::Single),
    ] {
        let found = of(&off(more), &disk);
        assert_eq!(found.pages, pages, "{disk:?} {more}");
    }
    let unknown = of_config(&Names::new(), Some(&off("")), None);
    assert_eq!((unknown.pages, unknown.class), (Pages::Unknown, Class::Unknown));
    let vouched = of(&off(""), &model(CacheDurability::Protected, true));
    assert_eq!(vouched.class, Class::ReliesOnDevice);
    assert_eq!(vouched.kept(), Kept::Of(PageSafety::ReliesOnDevice, Lag::None));
}

#[test]
fn what_keeps_the_same_by_other_means_is_alike_and_what_keeps_less_is_not() {
    let twice = of(&mysql(""), &image());
    let whole = of(&mysql("innodb_doublewrite=OFF"), &drive(true));
    assert_eq!(twice.unlike(&whole), [], "{:?}", twice.differs(&whole));
    let vouched = of(&mysql("innodb_doublewrite=OFF"), &model(CacheDurability::Protected, true));
    let unlike = twice.unlike(&vouched);
    assert_eq!(unlike[0], DurabilityDifference::Pages(Pages::TwiceNotTried, Pages::AtomicByDevice));
    let lax = of(&mysql("innodb_flush_log_at_trx_commit=2"), &image());
    let commits = DurabilityDifference::Commits(
        CommitDurability::AtCommit,
        CommitDurability::WrittenThenEachSeconds(1),
    );
    assert!(twice.unlike(&lax).contains(&commits));
}

#[test]
fn commits_are_as_late_as_the_later_of_both_logs() {
    let at = |changed: &str| of(&mysql(changed), &image());
    for (changed, commits, lag) in [
        ("", CommitDurability::AtCommit, Lag::None),
        ("innodb_flush_log_at_trx_commit=0", CommitDurability::EachSeconds(1), Lag::Seconds(1)),
        (
            "innodb_flush_log_at_trx_commit=2",
            CommitDurability::WrittenThenEachSeconds(1),
            Lag::Seconds(1),
        ),
        (
            "innodb_flush_log_at_trx_commit=2 innodb_flush_log_at_timeout=5",
            CommitDurability::WrittenThenEachSeconds(5),
            Lag::Seconds(5),
        ),
        ("sync_binlog=0", CommitDurability::LeftToSystem, Lag::LeftToSystem),
        ("sync_binlog=100", CommitDurability::EachGroups(100), Lag::Groups(100)),
        (
            "innodb_flush_log_at_trx_commit=2 sync_binlog=0",
            CommitDurability::LeftToSystem,
            Lag::LeftToSystem,
        ),
        ("sync_binlog=0 log_bin=OFF", CommitDurability::AtCommit, Lag::None),
        ("innodb_flush_log_at_trx_commit=7", CommitDurability::Unknown, Lag::Unknown),
    ] {
        let found = at(changed);
        assert_eq!(found.commits, commits, "{changed}");
        assert_eq!(found.kept(), Kept::Of(PageSafety::ReliesOnRecovery, lag), "{changed}");
        let class = match commits {
            CommitDurability::AtCommit => Class::ReliesOnRecovery,
            CommitDurability::Unknown => Class::Unknown,
            _ => Class::CommitsAtRisk,
        };
        assert_eq!(found.class, class, "{changed}");
    }
    assert_eq!(
        of(&mariadb(""), &image()).commits,
        CommitDurability::AtCommit,
        "it has no binary log"
    );
    assert_eq!(of(&mariadb("log_bin=ON"), &image()).commits, CommitDurability::LeftToSystem);
    assert_eq!(
        of(&mariadb("innodb_flush_log_at_trx_commit=3"), &image()).commits,
        CommitDurability::AtCommit
    );
}

#[test]
fn flushes_are_honoured_needless_lost_or_the_devices_own_business() {
    let with = |options: &[&str], disk: DiskRecord| {
        let mount_options = options.iter().map(|option| (*option).to_owned()).collect();
        of(&mysql(""), &DiskRecord { mount_options, ..disk })
    };
    assert_eq!(with(&["noatime"], image()).flushes, Flushes::AsTheDeviceSays);
    assert_eq!(with(&[], drive(true)).flushes, Flushes::AsTheDeviceSays, "of what it lies on");
    assert_eq!(with(&[], model(CacheDurability::Volatile, false)).flushes, Flushes::Honoured);
    for cache in [CacheDurability::Protected, CacheDurability::Writethrough] {
        assert_eq!(with(&["nobarrier"], model(cache, false)).flushes, Flushes::NotNeeded);
    }
    for option in ["nobarrier", "barrier=0"] {
        for disk in [image(), model(CacheDurability::Volatile, false), drive(true)] {
            let lost = with(&[option], disk);
            assert_eq!((lost.flushes, lost.class), (Flushes::Lost, Class::PagesAtRisk));
            assert_eq!(lost.kept(), Kept::Nothing);
        }
    }
    assert_eq!(with(&["barrier=1"], image()).flushes, Flushes::AsTheDeviceSays);
    let through = DiskRecord { kernel_cache: Some("write through".into()), ..image() };
    let class = with(&["nobarrier"], through).class;
    assert_eq!(class, Class::ReliesOnRecovery, "there is no cache to flush");
    for method in ["nosync", "littlesync"] {
        let found = of(
            &mysql(&format!("innodb_flush_method={method}")),
            &model(CacheDurability::Protected, true),
        );
        assert_eq!((found.flushes, found.class), (Flushes::Lost, Class::PagesAtRisk));
    }
    let found = of(&mysql("innodb_flush_method=O_DIRECT_NO_FSYNC"), &image());
    assert_eq!(found.class, Class::ReliesOnRecovery);
    assert!(found.notes.contains(&DurabilityNote::FlushMethodWithoutDataFiles), "{found:?}");
}

#[test]
fn copies_without_checksums_help_nobody_and_whole_writes_do_without() {
    for algorithm in ["none", "strict_none"] {
        let none = format!("innodb_checksum_algorithm={algorithm}");
        let twice = of(&mysql(&none), &image());
        assert_eq!((twice.pages, twice.class), (Pages::TwiceInVain, Class::PagesAtRisk));
        assert_eq!(twice.page_checksums, Checks::Off);
        assert_eq!(of(&mysql(&none), &drive(true)).pages, Pages::WrittenWhole);
        let off = format!("{none} innodb_doublewrite=OFF");
        assert_eq!(of(&mysql(&off), &drive(true)).class, Class::Safe);
    }
    for algorithm in ["crc32", "strict_crc32", "innodb", "full_crc32", "strict_full_crc32"] {
        let found = of(&mysql(&format!("innodb_checksum_algorithm={algorithm}")), &image());
        assert_eq!(found.page_checksums, Checks::On, "{algorithm}");
    }
    let log = of(&mysql("innodb_log_checksums=OFF"), &image());
    assert_eq!((log.log_checksums, log.class), (Checks::Off, Class::ReliesOnRecovery));
    assert!(log.notes.contains(&DurabilityNote::LogEndNotFound), "{log:?}");
}

#[test]
fn a_copy_that_is_not_flushed_is_told_where_a_cache_could_lose_it() {
    let is_told = |variables: &Names, disk: &DiskRecord| {
        of(variables, disk).notes.contains(&DurabilityNote::CopyNotFlushed)
    };
    assert!(is_told(&mysql(""), &image()));
    assert!(is_told(&mysql(""), &model(CacheDurability::Volatile, false)));
    assert!(!is_told(&mysql(""), &model(CacheDurability::Protected, false)));
    assert!(!is_told(&mysql(""), &drive(true)), "the drive keeps the order");
    assert!(!is_told(&mysql("innodb_flush_method=fsync"), &image()));
    assert!(!is_told(&mariadb(""), &image()), "MariaDB flushes it");
}

#[test]
fn what_was_read_goes_before_what_was_asked_for_and_that_before_defaults() {
    let settings = names("innodb_doublewrite=OFF skip_log_bin=ON sync_binlog=0");
    let asked = of_config(&settings, None, Some(&image()));
    assert_eq!((asked.pages, asked.commits), (Pages::Single, CommitDurability::AtCommit));
    let read = of_config(&settings, Some(&mysql("log_bin=OFF")), Some(&image()));
    assert_eq!(read.pages, Pages::TwiceNotTried);
    let nothing = of_config(&Names::new(), None, None);
    assert_eq!((nothing.class, nothing.flushes), (Class::ReliesOnRecovery, Flushes::Unknown));
    let skipped = of_config(&names("skip_innodb_doublewrite=ON"), None, Some(&image()));
    assert_eq!(skipped.pages, Pages::Single);
    let left = of_config(&names("log_bin=binlog sync_binlog=0"), None, Some(&image()));
    assert_eq!(left.commits, CommitDurability::LeftToSystem);
}

#[test]
fn classes_have_an_order_and_what_differs_is_named() {
    let classes = [
        Class::Unknown,
        Class::PagesAtRisk,
        Class::CommitsAtRisk,
        Class::ReliesOnRecovery,
        Class::ReliesOnDevice,
        Class::Safe,
    ];
    assert!(classes.is_sorted());
    let safe = of(&mysql(""), &image());
    assert_eq!(safe.differs(&safe), []);
    assert_eq!(safe.differs(&of(&mysql("innodb_io_capacity=9"), &image())), [], "no durability");
    let off = of(&mysql("innodb_doublewrite=OFF"), &image());
    assert_eq!(
        safe.differs(&off),
        [DurabilityDifference::Pages(Pages::TwiceNotTried, Pages::Single)]
    );
    let modelled = safe.differs(&of(&mysql(""), &model(CacheDurability::Protected, false)));
    let flushes = DurabilityDifference::Flushes(Flushes::AsTheDeviceSays, Flushes::NotNeeded);
    assert_eq!(modelled, [flushes]);
}
