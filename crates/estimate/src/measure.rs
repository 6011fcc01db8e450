//! Reads the drawn clusters and measures them, on several threads.
//!
//! Strata are handed out in the order of files and offsets, so that a disk's heads move one way.
//! The clusters that are read depend on the seed alone, not on the number of threads.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::{Result, anyhow};
use assay_drive::BlockBuffer;

use super::sample::{Pick, Stratum};
use super::shrink::{MeasuredBytes, SampledCluster, Shrinker};
use super::source::{CLUSTER_BYTES, Source};
use super::survey::SurveyedFile;
use super::tally::Tally;
use assay_system::interrupt::Interrupt;

/// Clusters that a worker takes at once. VDO packs within a batch; Ctrl-C waits for one.
const BATCH_CLUSTERS: u64 = 64;

/// Capacity of the queue of results, in batches.
const WAITING_BATCHES: usize = 64;

#[derive(Debug)]
pub struct MeasureTask<'a> {
    pub files: &'a [SurveyedFile],
    pub strata: &'a [Stratum],
    pub seed: u64,
    pub threads: usize,
}

/// Totals of a finished measurement.
#[derive(Debug)]
pub struct Measurements {
    pub total: Tally,
    /// One tally for each file.
    pub files: Vec<Tally>,
    /// Files that could not be read to the end, by position, with the reason.
    pub failed: BTreeMap<usize, String>,
}

/// The clusters of one stratum, as far as they could be read.
struct Read {
    stratum: usize,
    clusters: Vec<(usize, MeasuredBytes)>,
    failed: Vec<(usize, String)>,
}

impl MeasureTask<'_> {
    /// Reads and measures every drawn cluster. Calls `progress` with the number of clusters done.
    ///
    /// Fails if `interrupt` is set.
    pub fn carry_out(&self, interrupt: &Interrupt, progress: &dyn Fn(u64)) -> Result<Measurements> {
        let batches = batches(self.strata);
        let next = AtomicUsize::new(0);
        let (sender, results) = sync_channel(WAITING_BATCHES);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads.max(1))
                .map(|_| {
                    let sender = sender.clone();
                    scope.spawn(|| self.work(&batches, &next, sender, interrupt))
                })
                .collect();
            drop(sender);
            let measured = self.add_up(&results, progress);
            for worker in workers {
                worker.join().map_err(|_| anyhow!("a thread of the estimate failed"))??;
            }
            interrupt.check()?;
            Ok(measured)
        })
    }

    /// Takes batches until none are left.
    fn work(
        &self,
        batches: &[Range<usize>],
        next: &AtomicUsize,
        results: SyncSender<Vec<Read>>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let mut reader = Reader::new(self.files)?;
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let strata =
                batch.clone().map(|place| (place, self.strata[place].picks(self.seed, place)));
            let read = reader.read(strata, interrupt)?;
            // The receiver is gone only if the measurement has failed.
            let _ = results.send(read);
        }
        Ok(())
    }

    fn add_up(&self, results: &Receiver<Vec<Read>>, progress: &dyn Fn(u64)) -> Measurements {
        let files = vec![Tally::default(); self.files.len()];
        let mut measured = Measurements { total: Tally::default(), files, failed: BTreeMap::new() };
        let mut done = 0;
        for read in results.iter().flatten() {
            done += self.strata[read.stratum].draws;
            measured.add(&self.strata[read.stratum], read);
            progress(done);
        }
        measured
    }
}

impl Measurements {
    fn add(&mut self, stratum: &Stratum, read: Read) {
        let measured: Vec<MeasuredBytes> =
            read.clusters.iter().map(|(_, measured)| *measured).collect();
        self.total.add(stratum.clusters(), &measured);
        match stratum.only_file() {
            Some(file) => self.files[file].add(stratum.clusters(), &measured),
            None => {
                let weight = stratum.clusters() as f64 / measured.len().max(1) as f64;
                for (file, measured) in read.clusters {
                    self.files[file].add_part(weight, &[measured]);
                }
            }
        }
        for (file, reason) in read.failed {
            self.failed.entry(file).or_insert(reason);
        }
    }
}

/// Groups neighbouring strata into batches of about [`BATCH_CLUSTERS`] clusters to read.
fn batches(strata: &[Stratum]) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let mut start = 0;
    let mut clusters = 0;
    for (place, stratum) in strata.iter().enumerate() {
        clusters += stratum.draws;
        if clusters >= BATCH_CLUSTERS || place + 1 == strata.len() {
            batches.push(start..place + 1);
            (start, clusters) = (place + 1, 0);
        }
    }
    batches
}

/// The open file and the buffers of one worker.
struct Reader<'a> {
    files: &'a [SurveyedFile],
    open: Option<(usize, Source)>,
    buffer: BlockBuffer,
    shrinker: Shrinker,
}

impl<'a> Reader<'a> {
    fn new(files: &'a [SurveyedFile]) -> Result<Reader<'a>> {
        let buffer = BlockBuffer::zeroed(CLUSTER_BYTES as usize);
        Ok(Reader { files, open: None, buffer, shrinker: Shrinker::new()? })
    }

    fn read(
        &mut self,
        strata: impl Iterator<Item = (usize, Vec<Pick>)>,
        interrupt: &Interrupt,
    ) -> Result<Vec<Read>> {
        let mut measured = Vec::new();
        let mut reads = Vec::new();
        for (stratum, picks) in strata {
            let mut read = Read { stratum, clusters: Vec::new(), failed: Vec::new() };
            for (file, cluster) in picks {
                interrupt.check()?;
                match self.measure(measured.len(), file, cluster) {
                    Ok(found) => {
                        measured.push(found);
                        read.clusters.push((file, found));
                    }
                    Err(error) => read.failed.push((file, error.to_string())),
                }
            }
            reads.push(read);
        }
        self.shrinker.finish(&mut measured);
        let finished = reads.iter_mut().flat_map(|read: &mut Read| &mut read.clusters);
        finished.zip(measured).for_each(|((_, found), finished)| *found = finished);
        Ok(reads)
    }

    fn measure(
        &mut self,
        number: usize,
        file: usize,
        cluster: u64,
    ) -> std::io::Result<MeasuredBytes> {
        let surveyed = &self.files[file];
        let source = opened(&mut self.open, file, surveyed)?;
        let start = surveyed.clusters.offset(cluster);
        let length = source.read(start, &mut self.buffer)?;
        let data: Vec<Range<usize>> = source
            .data_within(start..start + length as u64)
            .into_iter()
            .map(|run| (run.start - start) as usize..((run.end - start) as usize).min(length))
            .collect();
        let (tablespace, can_compress_pages) =
            surveyed.tablespace().map_or((None, false), |(one, can)| (Some(one), can));
        let cluster = SampledCluster {
            bytes: &self.buffer.as_ref()[..length],
            data: &data,
            is_first: start == 0,
            tablespace,
            can_compress_pages,
        };
        Ok(self.shrinker.measure(number, &cluster))
    }
}

fn opened<'a>(
    open: &'a mut Option<(usize, Source)>,
    file: usize,
    surveyed: &SurveyedFile,
) -> std::io::Result<&'a mut Source> {
    if open.as_ref().is_none_or(|(other, _)| *other != file) {
        *open = Some((file, Source::open(&surveyed.path)?));
    }
    match open {
        Some((_, source)) => Ok(source),
        None => Err(std::io::ErrorKind::NotFound.into()),
    }
}
