//! Prints an estimate as text: a table, and sentences on it.

use assay_base::text::{counted, list, size};
use assay_estimate::{EstimateRow, FileNote, SCHEMES, SampleSize, Shrinkage, place};

/// Longest name in the table.
const NAME_WIDTH: usize = 34;

/// Width of a column of bytes.
const SIZE_WIDTH: usize = 9;

/// Headings of the size columns: length, space on the device, bytes that are no hole.
const SIZES: [&str; 3] = ["size", "on disk", "data"];

/// Width of the columns before the ratios.
const LEFT_WIDTH: usize = NAME_WIDTH + SIZES.len() * SIZE_WIDTH;

/// Width of a column of ratios.
const RATIO_WIDTH: usize = 8;

/// The table: a row for each of `rows`, the total, and how far its ratios may be off.
#[must_use]
pub(crate) fn table(rows: &[EstimateRow], total: &EstimateRow) -> String {
    let mut lines = vec![group_headings(), headings()];
    lines.extend(rows.iter().map(|row| line(row, ratio_cell)));
    if rows.len() > 1 {
        lines.push(line(total, ratio_cell));
    }
    if !total.tally.is_exact() {
        let blank = " ".repeat(LEFT_WIDTH - 1) + "±";
        lines.push(blank + &cells(total, error_cell));
    }
    lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn group_headings() -> String {
    let groups = SCHEMES.chunk_by(|scheme, next| scheme.group == next.group);
    let headings = groups.map(|group| format!("{:^1$}", group[0].group, RATIO_WIDTH * group.len()));
    " ".repeat(LEFT_WIDTH + 1) + &headings.collect::<String>()
}

fn headings() -> String {
    let labels: String =
        SCHEMES.iter().map(|scheme| format!("{:>RATIO_WIDTH$}", scheme.label)).collect();
    let sizes = SIZES.map(|heading| format!("{heading:>SIZE_WIDTH$}")).concat();
    format!("{:NAME_WIDTH$}{sizes}{labels}", "file")
}

fn line(row: &EstimateRow, cell: fn(Option<Shrinkage>) -> String) -> String {
    let sizes = [row.size_bytes as f64, row.allocated_bytes as f64, row.data_bytes];
    let sizes = sizes.map(|bytes| format!("{:>SIZE_WIDTH$}", size(bytes))).concat();
    let notes = row.notes.iter().map(|note| note.text()).collect::<Vec<_>>().join(", ");
    format!("{}{}{}  {notes}", name(&row.label), sizes, cells(row, cell))
}

fn cells(row: &EstimateRow, cell: fn(Option<Shrinkage>) -> String) -> String {
    row.shrinkages().map(|found| format!("{:>RATIO_WIDTH$}", cell(found))).concat()
}

fn ratio_cell(found: Option<Shrinkage>) -> String {
    found.map_or("–".into(), |found| ratio(found.ratio()))
}

fn error_cell(found: Option<Shrinkage>) -> String {
    let Some(found) = found else { return "–".into() };
    found.ratio_plus_minus().filter(|error| error.is_finite()).map_or("?".into(), half_interval)
}

/// Half the interval, with as many decimals as the ratio; a smaller one is shown as less than that.
fn half_interval(half: f64) -> String {
    if half >= 0.005 || half == 0.0 { format!("{half:.2}") } else { "<0.01".into() }
}

/// A ratio with two decimals; beyond 999, decimals mean nothing.
fn ratio(ratio: f64) -> String {
    if ratio < 1000.0 { format!("{ratio:.2}") } else { ">999".into() }
}

/// Shortens a long name to its end, by which files differ.
fn name(label: &str) -> String {
    let length = label.chars().count();
    if length < NAME_WIDTH {
        return format!("{label:NAME_WIDTH$}");
    }
    let end: String = label.chars().skip(length + 2 - NAME_WIDTH).collect();
    format!("…{end} ")
}

/// Sentences on the total, one a line.
#[must_use]
pub(crate) fn meaning(total: &EstimateRow, sample: SampleSize) -> Vec<String> {
    let mut lines = vec![what_was_read(total, sample)];
    let names = [
        ("drive_zstd_4k", "This drive with zstd would store it in"),
        ("drive_zstd_16k", "This drive with zstd and units of 16 KiB:"),
        ("innodb_zlib", "InnoDB's page compression with zlib:"),
        ("vdo_lz4", "VDO:"),
        ("btrfs_zstd", "btrfs with zstd:1, each file written once, sequentially:"),
    ];
    for (key, text) in names {
        let found = place(key).and_then(|scheme| total.shrinkage(scheme));
        lines.extend(found.map(|found| sentence(text, found, total.data_bytes)));
    }
    // If most blocks are zeroes, the ratio without them comes first.
    let place = if is_mostly_zeroes(total) { 1 } else { lines.len() };
    lines.splice(place..place, without_zeroes(total));
    lines
}

fn is_mostly_zeroes(total: &EstimateRow) -> bool {
    total.part(total.tally.total.zero_bytes) > 0.5
}

/// Ratio of the drive without blocks of zeroes, if those are a good part of its ratio.
fn without_zeroes(total: &EstimateRow) -> Option<String> {
    let found = &total.tally.total;
    let written = found.data_bytes - found.zero_bytes;
    let stored = *found.stored_bytes.get(place("drive_zstd_4k")?)?;
    let matters = total.part(found.zero_bytes) > 0.01 && written > 0.0;
    // From the sample to everything.
    let all = |bytes: f64| size(total.part(bytes) * total.data_bytes);
    matters.then(|| {
        let ratio = ratio(written / stored);
        format!(
            "Without blocks of zeroes, {} are written; this drive with zstd stores them in {}: \
             {ratio} : 1. All other ratios include zeroes.",
            all(written),
            all(stored),
        )
    })
}

fn sentence(text: &str, found: Shrinkage, data_bytes: f64) -> String {
    let (stored, all) = (size(found.share * data_bytes), size(data_bytes));
    let error = match found.ratio_plus_minus() {
        Some(error) if error.is_finite() && error > 0.0 => format!(" ± {}", half_interval(error)),
        _ => String::new(),
    };
    format!("{text} {stored} of {all}: {} : 1{error}", ratio(found.ratio()))
}

fn what_was_read(total: &EstimateRow, sample: SampleSize) -> String {
    let (data, read) = (size(total.data_bytes), size(total.tally.read_bytes));
    let zeroes = total.part(total.tally.total.zero_bytes) * 100.0;
    let how = match total.tally.is_exact() {
        true => "read in full".to_owned(),
        false => format!(
            "{read} of it read in {} places (seed {}); ± is half of a 95 % interval",
            sample.clusters, sample.seed
        ),
    };
    let files = if total.files == 1 { "file" } else { "files" };
    format!("{} {files} with {data} of data, {zeroes:.1} % of it zeroes; {how}.", total.files)
}

/// Warnings of data that no layer below the server can compress further, one a line.
#[must_use]
pub(crate) fn warnings(rows: &[EstimateRow]) -> Vec<String> {
    let with = |wanted: &[FileNote]| -> f64 {
        let noted = |row: &&EstimateRow| row.notes.iter().any(|note| wanted.contains(note));
        rows.iter().filter(noted).map(|row| row.data_bytes).sum()
    };
    let cases = [
        (
            with(&[FileNote::Encrypted]),
            "encrypted by the server, so no layer below can compress them; page compression works \
             before encryption",
        ),
        (
            with(&[FileNote::RowCompressed, FileNote::PageCompressed]),
            "already compressed by InnoDB; to compare, estimate an uncompressed copy",
        ),
        (with(&[FileNote::Dense]), "in files that appear to be compressed or encrypted"),
    ];
    let some = cases.into_iter().filter(|(bytes, _)| *bytes > 0.0);
    some.map(|(bytes, what)| format!("{} of data are {what}.", size(bytes))).collect()
}

/// A note if the files lie above devices that encrypt, so that a drive below would see other data.
#[must_use]
pub(crate) fn encrypted_below(devices: &[String]) -> Option<String> {
    (!devices.is_empty()).then(|| {
        format!(
            "These files lie on {}, which encrypts: a drive below it could compress nothing; the \
             ratios hold for one above it.",
            list(devices)
        )
    })
}

/// Line on skipped files, printed last: their names may have scrolled off the terminal.
#[must_use]
pub(crate) fn skipped(skipped: usize, read: usize) -> Option<String> {
    let files = |count: usize| counted(count as u64, "file");
    (skipped > 0).then(|| {
        format!(
            "{} skipped, each named at the start with its reason; all ratios are of the other {}.",
            files(skipped),
            files(read)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_estimate::{MeasuredBytes, SCHEME_COUNT, Tally};

    #[test]
    fn a_device_that_encrypts_is_told() {
        assert_eq!(encrypted_below(&[]), None);
        let line = encrypted_below(&["dm-0".into(), "dm-3".into()]).unwrap();
        assert!(line.starts_with("These files lie on dm-0 and dm-3, which encrypts: "), "{line}");
    }

    fn row(label: &str, data_bytes: f64, share: f64, notes: Vec<FileNote>) -> EstimateRow {
        let mut tally = Tally::default();
        let stored_bytes = [data_bytes * share; SCHEME_COUNT];
        tally.add(1, &[MeasuredBytes { data_bytes, stored_bytes, ..MeasuredBytes::default() }]);
        let allocated_bytes = data_bytes as u64;
        EstimateRow {
            label: label.into(),
            files: 1,
            size_bytes: 1 << 34,
            allocated_bytes,
            data_bytes,
            has_innodb: true,
            tally,
            notes,
        }
    }

    #[test]
    fn columns_stand_under_their_headings() {
        let rows = [
            row(&"x".repeat(60), 1e9, 0.5, vec![FileNote::Encrypted, FileNote::BinaryLog]),
            row("small", 10.0, 0.0, Vec::new()),
        ];
        let total = EstimateRow::together("total".into(), &rows);
        let table = table(&rows, &total);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 5, "{table}");
        let end = |line: &str, text: &str| {
            let start = line.find(text).unwrap();
            line[..start + text.len()].chars().count()
        };
        assert_eq!(end(lines[1], "deflate"), LEFT_WIDTH + 2 * RATIO_WIDTH);
        assert_eq!(end(lines[2], "2.00"), LEFT_WIDTH + RATIO_WIDTH);
        assert!(lines[2].starts_with("…xxx") && lines[2].ends_with("2.00  encrypted, binary log"));
        assert!(lines[3].starts_with("small ") && lines[3].contains(">999"));
        assert!(lines[4].starts_with("total ") && lines[4].ends_with("2.00"));
    }

    #[test]
    fn zeroes_that_flatter_are_named() {
        let mut half_empty = row("t.ibd", 1000.0, 0.25, Vec::new());
        let sample = SampleSize { clusters: 1, seed: 1 };
        let says = |row: &EstimateRow| {
            meaning(row, sample).iter().any(|line| {
                line.ends_with(
                    "are written; this drive with \
                zstd stores them in 250 B: 2.00 : 1. All other ratios include zeroes.",
                )
            })
        };
        assert!(!says(&half_empty));
        half_empty.tally.total.zero_bytes = 500.0;
        assert!(says(&half_empty));
        assert!(meaning(&half_empty, sample)[1].starts_with("This drive"), "half of it is written");
        // With mostly zeroes, the ratio without them comes first.
        half_empty.tally.total.zero_bytes = 900.0;
        assert!(meaning(&half_empty, sample)[1].starts_with("Without blocks of zeroes, 100 B are"));
    }

    #[test]
    fn what_was_skipped_is_said_last() {
        assert_eq!(skipped(0, 4), None);
        let told = "22 files skipped, each named at the start with its reason; all ratios are of \
            the other 4 files.";
        assert_eq!(skipped(22, 4).as_deref(), Some(told));
    }

    #[test]
    fn small_errors_are_not_shown_as_none() {
        assert_eq!([0.0, 0.02, 0.00081].map(half_interval), ["0.00", "0.02", "<0.01"]);
    }

    #[test]
    fn what_innodb_would_make_is_left_open_where_it_has_no_file() {
        let cells_of = |row: &EstimateRow| cells(row, ratio_cell).matches('–').count();
        let mut other = row("core", 1000.0, 0.5, Vec::new());
        assert_eq!(cells_of(&other), 0);
        other.has_innodb = false;
        assert_eq!(cells_of(&other), 2);
        let sample = SampleSize { clusters: 1, seed: 1 };
        assert!(!meaning(&other, sample).iter().any(|line| line.contains("InnoDB")));
    }

    #[test]
    fn a_sample_says_how_far_it_may_be_off() {
        let mut sampled = row("t.ibd", 1000.0, 0.5, Vec::new());
        let found = |stored| MeasuredBytes {
            data_bytes: 10.0,
            stored_bytes: [stored; SCHEME_COUNT],
            ..MeasuredBytes::default()
        };
        sampled.tally = Tally::default();
        (0..20).for_each(|_| sampled.tally.add(5, &[found(4.0), found(6.0)]));
        let sample = SampleSize { clusters: 40, seed: 1 };
        let lines = meaning(&sampled, sample);
        assert!(lines[0].contains("400 B of it read in 40 places (seed 1)"), "{}", lines[0]);
        assert_eq!(
            lines[1],
            "This drive with zstd would store it in 500 B of 1000 B: 2.00 : 1 ± 0.14"
        );
        assert!(table(&[sampled.clone()], &sampled).contains("0.14    0.14"));
    }
}
