//! A load in one value.

use crate::error::Result;
use crate::schedule::Schedule;
use crate::schema::Schema;
use crate::workload::Workload;
use assay_mysql::Endpoint;

/// A load: the server, its tables, the statements sent to it, their pace and their duration.
///
/// It holds the server's password, and so has no serialization of its own: a message that carries
/// it to another host says so with [`with_password`].
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSpec {
    /// The server.
    pub endpoint: Endpoint,
    /// Its tables.
    pub schema: Schema,
    /// The statements.
    pub workload: Workload,
    /// Their pace and duration.
    pub schedule: Schedule,
}

impl LoadSpec {
    /// Checks everything that needs no server.
    ///
    /// # Errors
    /// [`crate::Error::Config`] with what to change.
    pub fn check(&self) -> Result<()> {
        self.schema.check()?;
        self.check_but_rows()
    }

    /// As [`Self::check`], of tables that may be empty.
    pub(crate) fn check_but_rows(&self) -> Result<()> {
        self.schema.check_tables()?;
        self.workload.check()?;
        self.workload.check_tables(&self.schema)?;
        self.schedule.check()
    }

    /// The same load on another schedule.
    #[must_use]
    pub fn on(&self, schedule: Schedule) -> LoadSpec {
        let LoadSpec { endpoint, schema, workload, schedule: _ } = self.clone();
        LoadSpec { endpoint, schema, workload, schedule }
    }
}

/// Serializes a [`LoadSpec`] together with its password: `#[serde(with =
/// "assay_load::with_password")]`.
///
/// Only for the input of a session with another host; never for a file, a log or a report.
pub mod with_password {
    use std::borrow::Borrow;

    use assay_mysql::{Address, Endpoint, ServerKey, Tls};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{LoadSpec, Schedule, Schema, Workload};

    #[derive(Serialize, Deserialize)]
    #[serde(remote = "LoadSpec")]
    struct SentSpec {
        #[serde(with = "SentEndpoint")]
        endpoint: Endpoint,
        schema: Schema,
        workload: Workload,
        schedule: Schedule,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(remote = "Endpoint")]
    struct SentEndpoint {
        address: Address,
        user: String,
        password: String,
        database: String,
        tls: Tls,
        key: ServerKey,
        hides_user: bool,
    }

    /// Serializes the load.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(
        load: &impl Borrow<LoadSpec>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        SentSpec::serialize(load.borrow(), to)
    }

    /// Deserializes a load, boxed if the field is.
    ///
    /// # Errors
    /// Those of the deserializer.
    pub fn deserialize<'de, D, T>(from: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: From<LoadSpec>,
    {
        SentSpec::deserialize(from).map(T::from)
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Message {
        #[serde(with = "with_password")]
        load: Box<LoadSpec>,
    }

    #[test]
    fn a_load_arrives_with_its_password_and_prints_none() {
        let endpoint = Endpoint {
            password: "s3cret".into(),
            ..Endpoint::root_over("/run/mysqld.sock".as_ref(), "shop")
        };
        let (schema, workload) = (Schema::default(), Workload::default());
        let load = LoadSpec { endpoint, schema, workload, schedule: Schedule::default() };
        assert!(!format!("{load:?}").contains("s3cret"));
        let sent = serde_json::to_string(&Message { load: Box::new(load.clone()) }).unwrap();
        let received: Message = serde_json::from_str(&sent).unwrap();
        assert_eq!(*received.load, load);
    }
}
