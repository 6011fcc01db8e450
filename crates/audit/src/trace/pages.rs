//! Translates requests to a device into writes to pages of files.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use anyhow::{Context, Result};
use assay_ports::extents;
use serde::{Deserialize, Serialize};

use crate::files::ExaminedFile;

/// Number of pages that are listed.
const NAMED: usize = 20;

/// A page that arrived in pieces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InPieces {
    pub path: PathBuf,
    /// Number of the page in the file, from 0.
    pub page: u64,
    pub pieces: u64,
}

/// An extent of a file on the device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    from: u64,
    to: u64,
    logical: u64,
    file: usize,
}

/// The positions of files on a device.
#[derive(Debug)]
pub(super) struct Places {
    page_bytes: u64,
    files: Vec<PathBuf>,
    /// Ordered by position. Spans overlap only if files share blocks.
    spans: Vec<Span>,
}

/// The page writes so far.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    whole: u64,
    pieces: BTreeMap<(usize, u64), u64>,
}

impl Places {
    /// The positions of these files, on a device whose offset on its disk is `start`.
    pub(super) fn of(files: &[&ExaminedFile], start: u64, page_bytes: u64) -> Result<Places> {
        let mut places = Places { page_bytes, files: Vec::new(), spans: Vec::new() };
        for looked in files {
            let found = File::open(&looked.path).and_then(|file| extents::of(&file));
            let found =
                found.with_context(|| format!("cannot look at {}", looked.path.display()))?;
            let known = found.iter().filter(|extent| !extent.flags.has_no_place());
            let file = places.files.len();
            places.spans.extend(known.map(|extent| Span {
                from: start + extent.physical,
                to: start + extent.physical + extent.length,
                logical: extent.logical,
                file,
            }));
            places.files.push(looked.path.clone());
        }
        places.spans.sort_unstable();
        Ok(places)
    }

    /// Records a request from one byte of the device to another; returns true if it covers any
    /// page.
    pub(super) fn arrive(&self, from: u64, to: u64, arrivals: &mut Arrivals) -> bool {
        let first = self.spans.partition_point(|span| span.to <= from);
        let touched = self.spans[first..].iter().take_while(|span| span.from < to);
        // Adjacent extents of one file count as one piece.
        let mut whole: Option<(usize, u64, u64)> = None;
        let mut any = false;
        for span in touched {
            any = true;
            let (from, to) = (from.max(span.from), to.min(span.to));
            let logical = span.logical + from - span.from;
            let end = logical + to - from;
            whole = match whole {
                Some((file, begin, reached)) if file == span.file && reached == logical => {
                    Some((file, begin, end))
                }
                before => {
                    self.note(before, arrivals);
                    Some((span.file, logical, end))
                }
            };
        }
        self.note(whole, arrivals);
        any
    }

    fn note(&self, written: Option<(usize, u64, u64)>, arrivals: &mut Arrivals) {
        let Some((file, from, to)) = written else { return };
        let page = self.page_bytes;
        let (first, last) = (from.div_ceil(page), to / page);
        arrivals.whole += last.saturating_sub(first);
        let mut piece = |number: u64| *arrivals.pieces.entry((file, number)).or_default() += 1;
        if !from.is_multiple_of(page) {
            piece(from / page);
        }
        // A write within one page has one end that matters.
        if !to.is_multiple_of(page) && (from.is_multiple_of(page) || from / page != to / page) {
            piece(to / page);
        }
    }
}

impl Arrivals {
    /// Number of page writes that arrived whole.
    pub(super) fn whole(&self) -> u64 {
        self.whole
    }

    /// Number of pages that arrived in pieces.
    pub(super) fn pages_in_pieces(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// The pages with the most pieces.
    pub(super) fn worst(&self, places: &Places) -> Vec<InPieces> {
        let mut all: Vec<InPieces> = self
            .pieces
            .iter()
            .map(|(&(file, page), &pieces)| InPieces {
                path: places.files[file].clone(),
                page,
                pieces,
            })
            .collect();
        all.sort_by_key(|page| std::cmp::Reverse(page.pieces));
        all.truncate(NAMED);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 16 << 10;
    const K: u64 = 1 << 10;

    fn places(spans: &[(u64, u64, u64, usize)]) -> Places {
        let span = |&(from, to, logical, file)| Span { from, to, logical, file };
        let mut spans: Vec<Span> = spans.iter().map(span).collect();
        spans.sort_unstable();
        Places { page_bytes: PAGE, files: vec!["a".into(), "b".into()], spans }
    }

    fn arrived(places: &Places, requests: &[(u64, u64)]) -> (u64, Vec<(String, u64, u64)>) {
        let mut arrivals = Arrivals::default();
        for (from, to) in requests {
            places.arrive(*from, *to, &mut arrivals);
        }
        let worst = arrivals.worst(places).into_iter();
        let worst = worst.map(|page| (page.path.display().to_string(), page.page, page.pieces));
        (arrivals.whole(), worst.collect())
    }

    #[test]
    fn a_page_in_one_request_is_whole_and_one_in_two_is_not() {
        let one = places(&[(1000 * K, 1064 * K, 0, 0)]);
        assert_eq!(arrived(&one, &[(1000 * K, 1016 * K)]), (1, vec![]));
        assert_eq!(arrived(&one, &[(1000 * K, 1064 * K)]), (4, vec![]), "merged");
        let halves = [(1000 * K, 1008 * K), (1008 * K, 1016 * K)];
        assert_eq!(arrived(&one, &halves), (0, vec![("a".into(), 0, 2)]));
        assert_eq!(arrived(&one, &[(1004 * K, 1008 * K)]), (0, vec![("a".into(), 0, 1)]), "inside");
        assert_eq!(arrived(&one, &[(1008 * K, 1040 * K)]).0, 1, "the end of one, one, half of one");
        assert_eq!(arrived(&one, &[(0, 16 * K), (1064 * K, 1080 * K)]), (0, vec![]), "elsewhere");
    }

    #[test]
    fn a_page_across_two_extents_comes_in_pieces_unless_they_lie_side_by_side() {
        let apart = places(&[(0, 24 * K, 0, 0), (100 * K, 108 * K, 24 * K, 0)]);
        let (whole, pieces) = arrived(&apart, &[(0, 24 * K), (100 * K, 108 * K)]);
        assert_eq!((whole, pieces), (1, vec![("a".into(), 1, 2)]));
        let beside = places(&[(0, 24 * K, 0, 0), (24 * K, 32 * K, 24 * K, 0)]);
        assert_eq!(arrived(&beside, &[(0, 32 * K)]), (2, vec![]));
        // Adjacent extents may belong to two files.
        let two = places(&[(0, 8 * K, 0, 0), (8 * K, 16 * K, 8 * K, 1)]);
        let (whole, pieces) = arrived(&two, &[(0, 16 * K)]);
        assert_eq!((whole, pieces.len()), (0, 2));
    }
}
