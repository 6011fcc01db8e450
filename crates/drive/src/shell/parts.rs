//! The shell's objects, put together from a state by format, by opening and by a rebuild.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_disk::Disk;

use crate::core::chunks::Chunks;
use crate::core::log::Log;
use crate::core::map::Map;
use crate::core::space::Space;
use crate::format::{Cursor, STREAMS};
use crate::options::DriveOptions;
use crate::shell::bad_places::Unreadable;
use crate::shell::dictionaries::Dictionaries;
use crate::shell::log::SharedLog;
use crate::shell::map::SharedMap;
use crate::shell::media::Media;
use crate::shell::pins::Pins;
use crate::shell::records::Records;
use crate::shell::segments::Segments;
use crate::shell::superblocks::{Chosen, Superblocks};
use crate::shell::worker::Workers;
use crate::status::Counters;

/// The state of a drive, before anything shares it.
pub(crate) struct Parts {
    pub(crate) chosen: Chosen,
    pub(crate) map: Map,
    pub(crate) space: Space,
    pub(crate) cursors: [Cursor; STREAMS],
    pub(crate) next_seq: u64,
    pub(crate) counters: Counters,
    pub(crate) next_dictionary: u64,
    pub(crate) unreadable: Unreadable,
}

/// The shell's objects. Each holds those below it that it uses.
pub(crate) struct Shell {
    pub(crate) media: Arc<Media>,
    pub(crate) log: Arc<SharedLog>,
    pub(crate) superblocks: Arc<Superblocks>,
    pub(crate) pins: Arc<Pins>,
    pub(crate) segments: Arc<Segments>,
    pub(crate) records: Arc<Records>,
    pub(crate) map: Arc<SharedMap>,
    pub(crate) workers: Arc<Workers>,
}

impl Shell {
    pub(crate) fn assemble(disk: Arc<dyn Disk>, options: &DriveOptions, parts: Parts) -> Shell {
        let identity = parts.chosen.superblock.identity;
        let opened = parts.space.iter().map(|(_, segment)| segment.opened_seq);
        let chunks = Chunks::new(opened, identity.segment_bytes);
        let mut space = parts.space;
        if options.rescue {
            space.open_reserve();
        }
        space.note_nodes(parts.map.nodes());
        let mut log = Log::new(identity, space, parts.cursors, parts.next_seq);
        log.log_bytes = parts.counters.log_bytes.load(Ordering::Relaxed);
        let media = Arc::new(Media::new(disk, identity, parts.counters));
        let log = Arc::new(SharedLog::new(Arc::clone(&media), log, chunks));
        let superblocks = Superblocks::new(Arc::clone(&media), parts.chosen, parts.next_seq);
        let pins = Arc::new(Pins::new(Arc::clone(&media)));
        let segments = Segments::new(Arc::clone(&media), Arc::clone(&log), parts.unreadable);
        let segments = Arc::new(segments);
        let records = Arc::new(Records::new(
            Arc::clone(&media),
            Arc::clone(&log),
            Arc::clone(&segments),
            Dictionaries::new(parts.next_dictionary),
        ));
        let workers = Arc::new(Workers::new(identity.codec));
        let map = SharedMap::new(
            Arc::clone(&media),
            Arc::clone(&log),
            Arc::clone(&records),
            Arc::clone(&pins),
            Arc::clone(&workers),
            parts.map,
            options.map_bytes,
        );
        Shell {
            media,
            log,
            superblocks: Arc::new(superblocks),
            pins,
            segments,
            records,
            map: Arc::new(map),
            workers,
        }
    }
}
