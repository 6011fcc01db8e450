//! The effect of one program on the server in a run, without its random parts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::statement::{Form, Statement, as_read};

/// A run, summed up by place in the event: each event sends the same forms in the same order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub events: u64,
    /// Statements prepared, and how often each.
    prepared: BTreeMap<String, usize>,
    /// Statements before the first event.
    before: Vec<Form>,
    pub event: Vec<Form>,
    /// Reads, writes and others as the program itself counted them.
    pub counted: [u64; 3],
    /// Places where the table ever differs from that of the statement before.
    table_changes: BTreeSet<usize>,
    /// Places whose first number is always that of the statement before.
    same_numbers: BTreeSet<usize>,
    tables: Distribution,
    /// First number of the statement, by place.
    numbers: Vec<Distribution>,
    /// The same with places of one form put together, which shows smaller differences.
    together: BTreeMap<String, Distribution>,
    /// Second number less the first, by place.
    spans: Vec<Distribution>,
    /// Lengths of groups of digits in texts, by place.
    groups: Vec<Distribution>,
}

impl Answer {
    /// Sums up a run of `events` events.
    ///
    /// # Errors
    /// If not all events send the same forms.
    pub fn of(
        prepared: BTreeMap<String, usize>,
        statements: &[Statement],
        events: u64,
        counted: [u64; 3],
    ) -> Result<Answer, String> {
        let before = statements.len() % events as usize;
        let per_event = statements.len() / events as usize;
        let forms = |statements: &[Statement]| {
            statements.iter().map(|statement| statement.form.clone()).collect::<Vec<_>>()
        };
        let (first, rest) = statements.split_at(before);
        let all: Vec<&[Statement]> = rest.chunks(per_event.max(1)).collect();
        let event = forms(all.first().ok_or("no statements")?);
        if let Some(other) = all.iter().position(|event_of| forms(event_of) != event) {
            return Err(format!(
                "event {other} is {:?}, the first is {event:?}",
                forms(all[other])
            ));
        }
        let pairs = |place: usize| all.iter().map(move |it| (&it[place - 1], &it[place]));
        let changes = |place: &usize| {
            let tables = |statement: &Statement| statement.table;
            pairs(*place).any(|(a, b)| tables(b).is_some() && tables(a) != tables(b))
        };
        let is_same = |place: &usize| {
            let first = |statement: &Statement| statement.numbers.first().copied();
            pairs(*place).all(|(a, b)| first(b).is_some() && first(a) == first(b))
        };
        // The table of a statement that follows BEGIN is no change.
        let first_table = event.iter().position(|form| form.1.contains("sbtest@"));
        let after_first = first_table.map_or(per_event, |place| place + 1);
        let by_place = |draws: &dyn Fn(&Statement) -> Vec<i64>| {
            let at = |place| {
                Distribution::of(
                    all.iter().flat_map(|one: &&[Statement]| draws(&one[place])).collect(),
                )
            };
            (0..per_event).map(at).collect::<Vec<_>>()
        };
        let table_changes: BTreeSet<usize> = (after_first..per_event).filter(changes).collect();
        // A table that is kept is one draw, however many statements go to it.
        let draws = || first_table.into_iter().chain(table_changes.iter().copied());
        let tables = all.iter().flat_map(|it| draws().filter_map(|place| it[place].table));
        let mut together: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for statement in rest {
            let draws = together.entry(statement.form.1.clone()).or_default();
            draws.extend(statement.numbers.first());
        }
        Ok(Answer {
            events,
            prepared,
            before: forms(first),
            counted,
            same_numbers: (1..per_event).filter(is_same).collect(),
            tables: Distribution::of(tables.collect()),
            table_changes,
            numbers: by_place(&|statement| statement.numbers.iter().take(1).copied().collect()),
            together: together
                .into_iter()
                .map(|(form, draws)| (form, Distribution::of(draws)))
                .collect(),
            spans: by_place(&|statement| match statement.numbers[..] {
                [first, second, ..] => vec![second - first],
                _ => Vec::new(),
            }),
            groups: by_place(&|statement| statement.groups.clone()),
            event,
        })
    }

    /// The answer with its distributions thinned, as it is recorded.
    pub fn thinned(&self) -> Answer {
        let thinned = |all: &[Distribution]| all.iter().map(Distribution::thinned).collect();
        Answer {
            tables: self.tables.thinned(),
            numbers: thinned(&self.numbers),
            together: self
                .together
                .iter()
                .map(|(form, draws)| (form.clone(), draws.thinned()))
                .collect(),
            spans: thinned(&self.spans),
            groups: thinned(&self.groups),
            ..self.clone()
        }
    }

    /// The answer as it compares for the old generators, where this program differs from them in
    /// ways that change no event:
    ///
    /// - they write keywords in other cases and with other spaces;
    /// - 0.4 asks for the table's engine first, by `SHOW TABLE STATUS`;
    /// - 0.4 prepares all statements of its test mode, each once; this program prepares those that
    ///   it executes, one for each place. That a statement is executed as a prepared one is
    ///   compared.
    pub fn as_read(&self) -> Answer {
        let read = |forms: &[Form]| -> Vec<Form> {
            forms.iter().map(|(command, form)| (command.clone(), as_read(form))).collect()
        };
        let mut before = read(&self.before);
        before.retain(|(_, form)| !form.starts_with("SHOW TABLE STATUS"));
        Answer {
            prepared: BTreeMap::new(),
            before,
            event: read(&self.event),
            together: self
                .together
                .iter()
                .map(|(form, draws)| (as_read(form), draws.clone()))
                .collect(),
            ..self.clone()
        }
    }

    /// Counts as if reads, writes and others were one kind.
    pub fn with_counts_together(&mut self) {
        self.counted = [0, 0, self.counted.iter().sum()];
    }

    /// Differences of `ours` from this answer; the runs may differ in length.
    pub fn differences(&self, ours: &Answer) -> Vec<String> {
        let mut found = Vec::new();
        if self.prepared != ours.prepared {
            found.push(format!("prepared: {:?} and {:?}", self.prepared, ours.prepared));
        }
        if self.before != ours.before {
            found.push(format!("before the first event: {:?} and {:?}", self.before, ours.before));
        }
        if self.event != ours.event {
            let (a, b) = (&self.event, &ours.event);
            let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
            found.push(format!("statement {at}: {:?} and {:?}", a.get(at), b.get(at)));
            return found;
        }
        if self.table_changes != ours.table_changes {
            let (a, b) = (&self.table_changes, &ours.table_changes);
            found.push(format!("tables change at {a:?} and {b:?}"));
        }
        if self.same_numbers != ours.same_numbers {
            let (a, b) = (&self.same_numbers, &ours.same_numbers);
            found.push(format!("numbers are repeated at {a:?} and {b:?}"));
        }
        let mut near = |what: &str, theirs: &Distribution, ours: &Distribution| {
            let distance = theirs.distance(ours);
            if distance > 1.0 {
                found
                    .push(format!("{what}: {distance:.2} times as far apart as chance makes them"));
            }
        };
        near("tables", &self.tables, &ours.tables);
        for (form, theirs) in &self.together {
            near(&format!("numbers of {form}"), theirs, &ours.together[form]);
        }
        for (what, theirs, ours) in [
            ("numbers", &self.numbers, &ours.numbers),
            ("spans", &self.spans, &ours.spans),
            ("groups of digits", &self.groups, &ours.groups),
        ] {
            for (place, (a, b)) in theirs.iter().zip(ours).enumerate() {
                near(&format!("{what} at place {place}"), a, b);
            }
        }
        let scaled = |counted: [u64; 3], events: u64| counted.map(|count| count * events);
        if scaled(self.counted, ours.events) != scaled(ours.counted, self.events) {
            found.push(format!(
                "counted {:?} in {} events and {:?} in {}",
                self.counted, self.events, ours.counted, ours.events
            ));
        }
        found
    }
}
