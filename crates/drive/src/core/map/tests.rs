//! The map compared with an ordered map, and in special situations.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;

use super::*;

fn place(offset: u32) -> Location {
    Location::new(1, offset, 100, false)
}

#[test]
fn what_was_set_is_found_and_memory_follows_what_is_written() {
    let mut map = Map::new(10 * NODE_ENTRIES * NODE_ENTRIES);
    assert_eq!(map.get(5), Ok(Location::NONE));
    let nothing = map.memory_bytes();
    assert_eq!(map.set(5, place(64)), Ok(Location::NONE));
    assert_eq!(map.set(5, place(999)), Ok(place(64)));
    assert_eq!((map.get(5), map.get(6)), (Ok(place(999)), Ok(Location::NONE)));
    assert_eq!((map.mapped_blocks(), map.loaded_leaves), (1, 1));
    assert!(map.memory_bytes() - nothing < 20_000);
}

#[test]
fn a_stored_map_is_loaded_node_by_node() {
    let mut map = Map::stored_at(NODE_ENTRIES * NODE_ENTRIES, &[place(1)], 1, 1);
    let directory = NodeId::Directory(0);
    assert_eq!(map.get(700), Err(Missing(directory)));
    let mut words = [0; 512];
    words[1] = place(2).word();
    map.load(directory, place(1), Box::new(words));
    assert_eq!(map.get(3), Ok(Location::NONE));
    assert_eq!(map.get(700), Err(Missing(NodeId::Leaf(1))));
    assert_eq!(map.missing(0..1024), Some(Missing(NodeId::Leaf(1))));
    assert_eq!(map.stored(NodeId::Leaf(1)), Ok(place(2)));
    let mut words = [0; 512];
    words[700 - 512] = place(3).word();
    map.load(NodeId::Leaf(1), place(2), Box::new(words));
    assert_eq!((map.get(700), map.missing(0..1024)), (Ok(place(3)), None));
    assert!(map.take_dirty().is_empty());
}

#[test]
fn what_was_read_from_a_former_place_is_not_taken_in() {
    let mut map = Map::new(NODE_ENTRIES);
    map.set(1, place(1)).unwrap();
    let old = Box::new(*map.take_dirty()[0].1);
    map.set_stored(NodeId::Leaf(0), place(2));
    map.set(1, place(3)).unwrap();
    map.take_dirty();
    map.set_stored(NodeId::Leaf(0), place(4));
    map.evict(0);
    map.load(NodeId::Leaf(0), place(2), old);
    assert_eq!(map.get(1), Err(Missing(NodeId::Leaf(0))));
}

#[test]
fn a_checkpoint_keeps_what_it_took_while_the_map_goes_on() {
    let mut map = Map::new(NODE_ENTRIES);
    map.set(1, place(1)).unwrap();
    let taken = map.take_dirty();
    map.set(1, place(2)).unwrap();
    assert_eq!(taken[0].1[1], place(1).word());
    assert_eq!(map.get(1), Ok(place(2)));
    assert_eq!(map.set_stored(NodeId::Leaf(0), place(9)), Location::NONE);
    assert_eq!(map.dirty_directories()[0].1[0], place(9).word());
    assert_eq!(map.take_dirty().len(), 1, "changed since, so due again");
}

#[test]
fn what_a_checkpoint_took_counts_as_unstored_until_it_is_stored() {
    let mut map = Map::new(2 * NODE_ENTRIES);
    map.set(1, place(1)).unwrap();
    map.set(NODE_ENTRIES, place(1)).unwrap();
    assert_eq!((map.take_dirty().len(), map.unstored_leaves()), (2, 2));
    map.set(1, place(2)).unwrap();
    assert_eq!(map.unstored_leaves(), 3, "changed since, so it is stored twice");
    map.set_stored(NodeId::Leaf(0), place(9));
    map.set_stored(NodeId::Leaf(1), place(9));
    assert_eq!(map.unstored_leaves(), 1);
}

#[test]
fn only_clean_stored_leaves_are_evicted() {
    let mut map = Map::new(4 * NODE_ENTRIES);
    for leaf in 0..4 {
        map.set(leaf * NODE_ENTRIES, place(1)).unwrap();
    }
    map.evict(0);
    assert_eq!(map.loaded_leaves, 4);
    map.take_dirty();
    for leaf in 0..3 {
        map.set_stored(NodeId::Leaf(leaf), place(7));
    }
    map.set(0, place(2)).unwrap();
    map.evict(0);
    assert_eq!(map.loaded_leaves, 2);
    assert_eq!(map.get(0), Ok(place(2)));
    assert_eq!(map.get(NODE_ENTRIES), Err(Missing(NodeId::Leaf(1))));
}

#[test]
fn an_emptied_leaf_gives_its_memory_back() {
    let mut map = Map::new(NODE_ENTRIES);
    map.set(1, place(1)).unwrap();
    map.set(1, Location::NONE).unwrap();
    map.drop_if_empty(0);
    assert_eq!(map.loaded_leaves, 1, "still due");
    map.take_dirty();
    map.drop_if_empty(0);
    assert_eq!((map.loaded_leaves, map.mapped_blocks()), (0, 0));
    assert!(map.is_hole(0..512));
}

#[test]
fn what_is_lost_is_lost_until_it_is_written_or_discarded() {
    let mut map = Map::stored_at(NODE_ENTRIES * NODE_ENTRIES, &[place(1)], 2, 600);
    let mut words = [0; 512];
    (words[0], words[1]) = (place(2).word(), place(3).word());
    map.load(NodeId::Directory(0), place(1), Box::new(words));
    map.lose(NodeId::Leaf(1), place(9));
    assert_eq!(map.get(600), Err(Missing(NodeId::Leaf(1))), "it lies elsewhere by now");
    map.lose(NodeId::Leaf(1), place(3));
    assert_eq!((map.get(600), map.missing(512..1024)), (Ok(Location::LOST), None));
    assert_eq!(map.take_lost_places(), [place(3)]);
    assert_eq!(map.set(600, place(4)), Ok(Location::LOST));
    assert_eq!(map.set(601, Location::NONE), Ok(Location::LOST));
    let read = [600, 601, 602].map(|block| map.get(block));
    assert_eq!(read, [Ok(place(4)), Ok(Location::NONE), Ok(Location::LOST)]);
    // The directory too: all except nodes changed since.
    let mut map = Map::stored_at(NODE_ENTRIES * NODE_ENTRIES, &[place(1)], 2, 600);
    map.lose(NodeId::Directory(0), place(1));
    assert_eq!(map.set(5, place(6)), Ok(Location::LOST));
    assert_eq!(
        (map.get(5), map.get(4), map.get(90_000)),
        (Ok(place(6)), Ok(Location::LOST), Ok(Location::LOST))
    );
}

/// An operation on a map.
#[derive(Debug, Clone)]
enum Step {
    Set(u64, Location),
    Checkpoint,
    Evict(u64),
}

/// Blocks of the maps below: two directories and a bit.
const BLOCKS: u64 = 2 * NODE_ENTRIES * NODE_ENTRIES + 700;

fn step() -> impl Strategy<Value = Step> {
    let near = prop_oneof![0..40_u64, 500..530_u64, BLOCKS - 300..BLOCKS, 0..BLOCKS];
    let location = prop_oneof![
        3 => (0..9_u32, 1..99_u32)
            .prop_map(|(segment, at)| Location::new(segment, 64 * at, 50, false)),
        1 => Just(Location::NONE),
    ];
    prop_oneof![
        12 => (near, location).prop_map(|(block, place)| Step::Set(block, place)),
        1 => Just(Step::Checkpoint),
        1 => (0..40_000_u64).prop_map(Step::Evict),
    ]
}

/// A map with the media on which its nodes are stored.
struct Stored {
    map: Map,
    nodes: HashMap<(NodeId, Location), Box<Node>>,
    next: u32,
}

impl Stored {
    fn load(&mut self, Missing(node): Missing) {
        let place = self.map.stored(node).unwrap();
        self.map.load(node, place, self.nodes[&(node, place)].clone());
    }

    fn get(&mut self, block: u64) -> Location {
        loop {
            match self.map.get(block) {
                Ok(place) => return place,
                Err(missing) => self.load(missing),
            }
        }
    }

    fn set(&mut self, block: u64, place: Location) -> Location {
        loop {
            match self.map.set(block, place) {
                Ok(former) => return former,
                Err(missing) => self.load(missing),
            }
        }
    }

    fn store(&mut self, node: NodeId, words: &Node) {
        self.next += 1;
        let place = Location::new(self.next, 64, 4101, false);
        self.nodes.insert((node, place), Box::new(*words));
        self.map.set_stored(node, place);
    }

    fn checkpoint(&mut self) {
        for (number, leaf) in self.map.take_dirty() {
            if leaf.iter().any(|&word| word != 0) {
                self.store(NodeId::Leaf(number), &leaf);
            } else {
                self.map.set_stored(NodeId::Leaf(number), Location::NONE);
                self.map.drop_if_empty(number);
            }
        }
        for (number, words) in self.map.dirty_directories() {
            self.store(NodeId::Directory(number), &words);
        }
    }

    /// The state after a crash: the directories, and their nodes on media.
    fn reopened(self) -> Stored {
        let directories = self.map.stored_directories();
        let map =
            Map::stored_at(BLOCKS, &directories, self.map.nodes().leaves, self.map.mapped_blocks());
        Stored { map, ..self }
    }
}

proptest! {
    #[test]
    fn a_map_is_an_ordered_map_whatever_is_stored_and_evicted(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut stored = Stored { map: Map::new(BLOCKS), nodes: HashMap::new(), next: 0 };
        let mut model = BTreeMap::new();
        for step in steps {
            match step {
                Step::Set(block, place) => {
                    let former = stored.set(block, place);
                    prop_assert_eq!(former, model.insert(block, place).unwrap_or_default());
                }
                Step::Checkpoint => stored.checkpoint(),
                Step::Evict(leaves) => drop(stored.map.evict(leaves)),
            }
            let mapped = model.values().filter(|place| !place.is_none()).count() as u64;
            prop_assert_eq!(stored.map.mapped_blocks(), mapped);
        }
        stored.checkpoint();
        let mut stored = stored.reopened();
        for (block, place) in &model {
            prop_assert!(place.is_none() || !stored.map.is_hole(*block..block + 1));
            prop_assert_eq!(stored.get(*block), *place);
            let neighbour = model.get(&(block ^ 1)).copied().unwrap_or_default();
            prop_assert_eq!(stored.get(block ^ 1), neighbour);
        }
    }
}
