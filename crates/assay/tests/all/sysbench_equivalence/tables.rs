//! The tables that a program loads: columns, indexes, and the forms of their rows.

use std::collections::{BTreeMap, BTreeSet};

use mysql::prelude::Queryable;
use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::statement::take_apart;

/// All tables of a database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tables(BTreeMap<String, Table>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Table {
    /// Name, type, nullability, default and extras of each column.
    columns: Vec<String>,
    /// Name, uniqueness and column of each index.
    indexes: BTreeSet<String>,
    rows: u64,
    ids: (u64, u64),
    /// Forms of `c` and `pad`, with `#` for each group of digits.
    texts: BTreeSet<(String, String)>,
    /// Lengths of groups of digits in `c` and `pad`.
    groups: Distribution,
    k: Distribution,
}

impl Tables {
    pub fn read(control: &mut mysql::Conn, database: &str) -> Tables {
        let names: Vec<String> = control.query(format!("SHOW TABLES FROM {database}")).unwrap();
        let mut tables = BTreeMap::new();
        for name in names {
            let table = Table::read(control, database, &name);
            tables.insert(name, table);
        }
        Tables(tables)
    }

    pub fn thinned(&self) -> Tables {
        let thinned = |(name, table): (&String, &Table)| {
            let (groups, k) = (table.groups.thinned(), table.k.thinned());
            (name.clone(), Table { groups, k, ..table.clone() })
        };
        Tables(self.0.iter().map(thinned).collect())
    }

    /// Differences of `ours` from these tables.
    pub fn differences(&self, ours: &Tables) -> Vec<String> {
        if self.0.keys().ne(ours.0.keys()) {
            return vec![format!("tables {:?} and {:?}", self.0.keys(), ours.0.keys())];
        }
        let mut found = Vec::new();
        for (name, theirs) in &self.0 {
            let ours = &ours.0[name];
            let distances = [&theirs.groups, &theirs.k]
                .into_iter()
                .zip([&ours.groups, &ours.k])
                .map(|(theirs, ours)| theirs.distance(ours));
            found.extend(
                distances
                    .filter(|distance| *distance > 1.0)
                    .map(|distance| format!("{name}: draws {distance:.2} times as far apart")),
            );
            let even = Table { groups: theirs.groups.clone(), k: theirs.k.clone(), ..ours.clone() };
            if *theirs != even {
                found.push(format!("{name}: {:?} and {:?}", theirs.fixed(), ours.fixed()));
            }
        }
        found
    }
}

impl Table {
    fn read(control: &mut mysql::Conn, database: &str, name: &str) -> Table {
        let of = format!("WHERE table_schema = '{database}' AND table_name = '{name}'");
        // The display width of an integer depends on the server's version.
        let columns = control
            .query(format!(
                "SELECT CONCAT_WS(' ', column_name, \
                 REGEXP_REPLACE(column_type, 'int\\\\([0-9]+\\\\)', 'int'), is_nullable, \
                 CONCAT('[', column_default, ']'), extra) \
                 FROM information_schema.columns {of} ORDER BY ordinal_position"
            ))
            .unwrap();
        let indexes: Vec<String> = control
            .query(format!(
                "SELECT CONCAT_WS(' ', index_name, non_unique, column_name) \
                 FROM information_schema.statistics {of}"
            ))
            .unwrap();
        let rows: Vec<(u64, i64, String, String)> =
            control.query(format!("SELECT id, k, c, pad FROM {database}.{name}")).unwrap();
        let (mut texts, mut groups) = (BTreeSet::new(), Vec::new());
        for (_, _, c, pad) in &rows {
            let [c, pad] = [c, pad].map(|text| take_apart("", &format!("'{text}'")));
            groups.extend([&c, &pad].into_iter().flat_map(|text| text.groups.clone()));
            texts.insert((c.form.1, pad.form.1));
        }
        let ids = || rows.iter().map(|row| row.0);
        Table {
            columns,
            indexes: indexes.into_iter().collect(),
            rows: rows.len() as u64,
            ids: (ids().min().unwrap_or(0), ids().max().unwrap_or(0)),
            texts,
            groups: Distribution::of(groups),
            k: Distribution::of(rows.iter().map(|row| row.1).collect()),
        }
    }

    /// The table without its draws, to be printed.
    fn fixed(&self) -> impl std::fmt::Debug {
        (&self.columns, &self.indexes, self.rows, self.ids, &self.texts)
    }
}
