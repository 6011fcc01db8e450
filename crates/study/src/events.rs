//! The events that a load counts, and the nouns for them.
//!
//! Texts of the program are templates with placeholders where they name an event; a sentence gets
//! its noun when it is made. Text from a plan or a store is never a template.

use std::borrow::Cow;

/// The kind of event that a load counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Events {
    /// Events of a server.
    Transactions,
    /// Events of files that are loaded without a server.
    Operations,
}

impl Events {
    /// The plural, e.g. `transactions`.
    #[must_use]
    pub const fn many(self) -> &'static str {
        match self {
            Events::Transactions => "transactions",
            Events::Operations => "operations",
        }
    }

    /// The singular without an article, e.g. `transaction`.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Events::Transactions => "transaction",
            Events::Operations => "operation",
        }
    }

    /// The singular with its article, e.g. `a transaction`.
    #[must_use]
    pub const fn one(self) -> &'static str {
        match self {
            Events::Transactions => "a transaction",
            Events::Operations => "an operation",
        }
    }

    /// The plural at the beginning of a sentence, e.g. `Transactions`.
    #[must_use]
    pub const fn capital(self) -> &'static str {
        match self {
            Events::Transactions => "Transactions",
            Events::Operations => "Operations",
        }
    }

    /// The unit of throughput in sentences, e.g. `transactions/s`.
    #[must_use]
    pub const fn rate(self) -> &'static str {
        match self {
            Events::Transactions => "transactions/s",
            Events::Operations => "operations/s",
        }
    }

    /// The unit of throughput in heads of columns, e.g. `TPS`.
    #[must_use]
    pub const fn per_second(self) -> &'static str {
        match self {
            Events::Transactions => "TPS",
            Events::Operations => "operations/s",
        }
    }

    /// The abbreviation in units, e.g. `trx` of `kB/trx`.
    #[must_use]
    pub const fn short(self) -> &'static str {
        match self {
            Events::Transactions => "trx",
            Events::Operations => "operation",
        }
    }

    /// The participle of an event that counts, e.g. `committed`.
    #[must_use]
    pub const fn done(self) -> &'static str {
        match self {
            Events::Transactions => "committed",
            Events::Operations => "done",
        }
    }

    /// Fills a text of the program: `{event}`, `{an event}`, `{events}`, `{Event}`, `{Events}`,
    /// `{done}`, `{TPS}` and `{trx}` stand for the nouns.
    #[must_use]
    pub fn fill(self, template: &'static str) -> Cow<'static, str> {
        if !template.contains('{') {
            return Cow::Borrowed(template);
        }
        let capital = match self {
            Events::Transactions => "Transaction",
            Events::Operations => "Operation",
        };
        let nouns = [
            ("{event}", self.noun()),
            ("{an event}", self.one()),
            ("{events}", self.many()),
            ("{Event}", capital),
            ("{Events}", self.capital()),
            ("{done}", self.done()),
            ("{TPS}", self.per_second()),
            ("{trx}", self.short()),
        ];
        let filled = nouns
            .iter()
            .fold(template.to_owned(), |text, (placeholder, noun)| text.replace(placeholder, noun));
        Cow::Owned(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_names_the_events_of_the_load() {
        let template = "{Events} {done} per second; response time of {an event}; kB/{trx}; {TPS}";
        assert_eq!(
            Events::Transactions.fill(template),
            "Transactions committed per second; response time of a transaction; kB/trx; TPS"
        );
        assert_eq!(
            Events::Operations.fill(template),
            "Operations done per second; response time of an operation; kB/operation; operations/s"
        );
    }
}
