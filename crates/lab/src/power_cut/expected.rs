//! The rows that the tables must hold, by the statements that the writers sent and the server
//! acknowledged.
//!
//! It is in this process's memory, off the rig.

use serde::{Deserialize, Serialize};

use super::rows::{Row, Rows};
use assay_study::power_cut::{Commits, Loss};

/// The most wrong rows that are reported one by one; more are counted.
const TOLD_MAX: usize = 8;

/// Transactions of one writer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sent {
    /// Number of the last transaction whose commit was acknowledged.
    pub(super) acknowledged: u64,
    /// Number of the last transaction that was begun.
    pub(super) begun: u64,
}

/// Content of the tables at the last check, by the numbers of transactions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Expected {
    rows: Rows,
    /// For each writer, the last transaction that the server kept.
    kept: Vec<u64>,
    /// For each row, the transaction that wrote it.
    written: Vec<u64>,
}

impl Expected {
    /// Content of fresh tables, which transaction 0 made.
    pub(super) fn new(rows: Rows) -> Expected {
        let (writers, all) = (rows.writers as usize, rows.count() as usize);
        Expected { rows, kept: vec![0; writers], written: vec![0; all] }
    }

    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// For each writer, the last transaction that the server kept.
    pub(super) fn kept(&self) -> &[u64] {
        &self.kept
    }

    /// Compares the numbers that the server kept with what was sent. What is lost though it was
    /// acknowledged is counted, and is a loss unless the server may lose it; a number that was
    /// never sent, or had been kept before, is one in any case.
    pub(super) fn commits(
        &self,
        found: &[Option<u64>],
        sent: &[Sent],
        may_lose: bool,
    ) -> (Commits, Vec<Loss>) {
        let mut commits = Commits::default();
        let mut losses = Vec::new();
        for (writer, (found, sent)) in (0_u32..).zip(found.iter().zip(sent)) {
            let kept = self.kept[writer as usize];
            commits.acknowledged += sent.acknowledged - kept;
            let Some(found) = *found else {
                losses.push(Loss::WriterMissing { writer });
                continue;
            };
            let lost = sent.acknowledged.saturating_sub(found);
            commits.lost += lost;
            commits.unanswered += found.saturating_sub(sent.acknowledged);
            if found > sent.begun || found < kept {
                let (least, most) = (kept, sent.begun);
                losses.push(Loss::WriterWrong { writer, found, least, most });
            } else if lost > 0 && !may_lose {
                losses.push(Loss::Commits { writer, acknowledged: sent.acknowledged, found });
            }
        }
        (commits, losses)
    }

    /// Takes over what the server kept: from here on this is what its rows must hold.
    pub(super) fn take_over(&mut self, found: &[u64]) {
        for (writer, found) in (0_u32..).zip(found) {
            for commit in self.kept[writer as usize] + 1..=*found {
                for id in self.rows.changed(writer, commit) {
                    self.written[id as usize] = commit;
                }
            }
            self.kept[writer as usize] = *found;
        }
    }

    /// A comparison of all rows, one after another in any order.
    pub(super) fn compare(&self) -> Comparing<'_> {
        let seen = vec![false; self.written.len()];
        Comparing { expected: self, seen, wrong: 0, losses: Vec::new() }
    }
}

/// Rows as they are compared, one after another.
pub(super) struct Comparing<'a> {
    expected: &'a Expected,
    seen: Vec<bool>,
    wrong: u64,
    losses: Vec<Loss>,
}

impl Comparing<'_> {
    /// A row as the server has it.
    pub(super) fn row(&mut self, id: u32, found: &Row) {
        let Some(&expected) = self.expected.written.get(id as usize) else {
            return self.note_loss(Loss::RowUnknown { id });
        };
        self.seen[id as usize] = true;
        if found.commit != expected {
            self.note_loss(Loss::RowOfOtherCommit { id, expected, found: found.commit });
        } else if *found != self.expected.rows.row(id, expected) {
            self.note_loss(Loss::RowChanged { id, commit: expected });
        }
    }

    /// The losses found, rows that did not come included.
    pub(super) fn end(mut self) -> Vec<Loss> {
        let missing: Vec<u32> =
            (0..).zip(&self.seen).filter(|(_, seen)| !**seen).map(|(id, _)| id).collect();
        missing.into_iter().for_each(|id| self.note_loss(Loss::RowMissing { id }));
        if self.wrong > self.losses.len() as u64 {
            self.losses.push(Loss::MoreRows { rows: self.wrong - self.losses.len() as u64 });
        }
        self.losses
    }

    fn note_loss(&mut self, loss: Loss) {
        self.wrong += 1;
        if self.losses.len() < TOLD_MAX {
            self.losses.push(loss);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: Rows = Rows { seed: 7, writers: 2, of_each: 50 };

    fn sent(acknowledged: u64, begun: u64) -> Sent {
        Sent { acknowledged, begun }
    }

    #[test]
    fn what_was_acknowledged_and_is_gone_is_lost_unless_the_server_may_lose_it() {
        let expected = Expected::new(ROWS);
        let sent = [sent(10, 11), sent(5, 6)];
        let judged =
            |found: [u64; 2], may_lose| expected.commits(&found.map(Some), &sent, may_lose);
        let (commits, losses) = judged([10, 6], false);
        assert_eq!(commits, Commits { acknowledged: 15, lost: 0, unanswered: 1 });
        assert!(losses.is_empty());
        let (commits, losses) = judged([7, 5], false);
        assert_eq!(
            (commits.lost, losses),
            (3, vec![Loss::Commits { writer: 0, acknowledged: 10, found: 7 }])
        );
        assert!(judged([7, 5], true).1.is_empty());
        let (_, losses) = judged([12, 5], true);
        assert_eq!(losses, [Loss::WriterWrong { writer: 0, found: 12, least: 0, most: 11 }]);
        assert_eq!(
            expected.commits(&[None, Some(5)], &sent, true).1,
            [Loss::WriterMissing { writer: 0 }]
        );
    }

    #[test]
    fn what_had_been_kept_before_must_be_there_whatever_the_server_may_lose() {
        let mut expected = Expected::new(ROWS);
        expected.take_over(&[10, 5]);
        let losses = expected.commits(&[Some(9), Some(5)], &[sent(10, 10), sent(5, 5)], true).1;
        assert_eq!(losses, [Loss::WriterWrong { writer: 0, found: 9, least: 10, most: 10 }]);
    }

    /// The rows as they are after these transactions.
    fn table(kept: [u64; 2]) -> Vec<(u32, Row)> {
        let mut expected = Expected::new(ROWS);
        expected.take_over(&kept);
        (0..).zip(&expected.written).map(|(id, commit)| (id, ROWS.row(id, *commit))).collect()
    }

    fn compared(kept: [u64; 2], table: &[(u32, Row)]) -> Vec<Loss> {
        let mut expected = Expected::new(ROWS);
        // In two steps, as after two power cuts.
        expected.take_over(&kept.map(|kept| kept / 2));
        expected.take_over(&kept);
        let mut comparing = expected.compare();
        table.iter().for_each(|(id, row)| comparing.row(*id, row));
        comparing.end()
    }

    #[test]
    fn rows_are_those_of_the_transactions_that_were_kept_and_no_others() {
        assert!(compared([30, 20], &table([30, 20])).is_empty());
        let of_half = compared([30, 20], &table([29, 20]));
        assert!(
            of_half.iter().all(|loss| matches!(loss, Loss::RowOfOtherCommit { expected: 30, .. }))
        );
        assert!(!of_half.is_empty(), "the last transaction is missing");
        let mut table = table([30, 20]);
        table[3].1.pad.replace_range(0..1, "x");
        let (gone, _) = table.pop().unwrap();
        let losses = compared([30, 20], &table);
        assert!(matches!(
            losses[..],
            [Loss::RowChanged { id: 3, .. }, Loss::RowMissing { id }] if id == gone
        ));
        assert_eq!(compared([30, 20], &[]).last(), Some(&Loss::MoreRows { rows: 92 }));
    }
}
