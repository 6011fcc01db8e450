//! A directed graph of names, with its levels and its circles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Names, and for each name the names that it uses, with an example of the place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    uses: BTreeMap<String, BTreeMap<String, String>>,
}

impl Graph {
    /// Adds a name without uses.
    pub fn add(&mut self, name: &str) {
        self.uses.entry(name.into()).or_default();
    }

    /// Records that `user` uses `used`, seen at `place`. A name does not use itself.
    pub fn add_use(&mut self, user: &str, used: &str, place: &str) {
        self.add(user);
        self.add(used);
        if user != used {
            let uses = self.uses.entry(user.into()).or_default();
            uses.entry(used.into()).or_insert_with(|| place.into());
        }
    }

    /// Returns true if a path of arrows leads from `from` to `to`.
    fn reaches(&self, from: &str, to: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(name) = next.pop() {
            for used in self.uses.get(name).into_iter().flat_map(|uses| uses.keys()) {
                if used == to {
                    return true;
                }
                if seen.insert(used.as_str()) {
                    next.push(used);
                }
            }
        }
        false
    }

    /// The arrows that no longer path implies (the transitive reduction), from user to used.
    #[must_use]
    pub fn direct(&self) -> BTreeSet<(&str, &str)> {
        let arrows = self.uses.iter().flat_map(|(user, uses)| {
            let follows = |used: &str| uses.keys().any(|other| self.reaches(other, used));
            uses.keys()
                .filter(move |used| !follows(used))
                .map(|used| (user.as_str(), used.as_str()))
        });
        arrows.collect()
    }

    /// The groups of names that use each other in a circle, each with its arrows and their places.
    #[must_use]
    pub fn circles(&self) -> Vec<String> {
        let mut told = BTreeSet::new();
        let mut circles = Vec::new();
        for name in self.uses.keys() {
            if told.contains(name) || !self.reaches(name, name) {
                continue;
            }
            let is_tied = |other: &&String| self.reaches(name, other) && self.reaches(other, name);
            let tied: Vec<&String> = self.uses.keys().filter(is_tied).collect();
            told.extend(tied.iter().copied());
            circles.push(self.tell(&tied));
        }
        circles
    }

    fn tell(&self, tied: &[&String]) -> String {
        let mut text = String::new();
        for name in tied {
            for (used, place) in self.uses.get(*name).into_iter().flatten() {
                if tied.contains(&used) {
                    let _ = writeln!(text, "  {name} -> {used}  ({place})");
                }
            }
        }
        text
    }

    /// The graph as text, one name a line, lowest level first: each with its level and the names
    /// that it uses. Names in a circle have no level.
    #[must_use]
    pub fn drawing(&self) -> String {
        let mut lines: Vec<(usize, String)> =
            self.uses.keys().map(|name| (self.floor(name), self.line(name))).collect();
        lines.sort();
        lines.into_iter().fold(String::new(), |mut text, (floor, line)| {
            let floor = if floor == usize::MAX { "?".into() } else { floor.to_string() };
            let _ = writeln!(text, "{floor:>2}  {line}");
            text
        })
    }

    fn line(&self, name: &str) -> String {
        let used: Vec<&str> =
            self.uses.get(name).into_iter().flatten().map(|(used, _)| used.as_str()).collect();
        if used.is_empty() { name.into() } else { format!("{name} -> {}", used.join(", ")) }
    }

    fn floor(&self, name: &str) -> usize {
        if self.reaches(name, name) {
            return usize::MAX;
        }
        let below = self.uses.get(name).into_iter().flatten();
        below.map(|(used, _)| self.floor(used).saturating_add(1)).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::Graph;

    fn graph(arrows: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        arrows.iter().for_each(|(user, used)| graph.add_use(user, used, "a.rs"));
        graph
    }

    #[test]
    fn a_house_without_circles_has_floors() {
        let graph = graph(&[("roof", "wall"), ("wall", "ground"), ("roof", "ground")]);
        assert_eq!(graph.circles(), Vec::<String>::new());
        assert_eq!(graph.drawing(), " 1  ground\n 2  wall -> ground\n 3  roof -> ground, wall\n");
        assert_eq!(graph.direct(), [("roof", "wall"), ("wall", "ground")].into());
    }

    #[test]
    fn each_circle_is_told_once_with_its_arrows() {
        let graph = graph(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("a", "e")]);
        let circles = graph.circles();
        assert_eq!(circles, ["  a -> b  (a.rs)\n  b -> c  (a.rs)\n  c -> a  (a.rs)\n"]);
        assert!(graph.drawing().contains(" ?  a -> b, e\n"));
    }
}
