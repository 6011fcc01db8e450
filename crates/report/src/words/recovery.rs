//! Sentences about a server's recovery of torn pages.

use assay_innodb::{PageRecovery, RecoveryFault};

/// A sentence for each thing that is known of the server of that name; `server` is its version in
/// words.
#[must_use]
pub fn sentences(recovery: PageRecovery, server: &str) -> Vec<String> {
    match recovery {
        PageRecovery::NotTested => {
            vec![format!(
                "whether {server} restores torn pages rightly was not tried; `assay powercut \
                tear` tries it"
            )]
        }
        PageRecovery::Tested([]) => {
            vec![format!("{server} restores torn pages from the newest copy, as far as was tried")]
        }
        PageRecovery::Tested(faults) => faults.iter().map(|one| fault(*one, server)).collect(),
    }
}

fn fault(fault: RecoveryFault, server: &str) -> String {
    match fault {
        RecoveryFault::TransactionSystemEarly => format!(
            "{server} does not start if page 5 of the system tablespace is torn: it reads that \
            page before it restores pages"
        ),
        RecoveryFault::FirstCopy => format!(
            "{server} restores a torn page from the first copy that it finds, not from the \
            newest: commits are lost without an error, or it does not start"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_a_sentence_and_what_was_not_tried_is_said() {
        let both = [RecoveryFault::TransactionSystemEarly, RecoveryFault::FirstCopy];
        let told = both.map(|one| fault(one, "MySQL 9.7.4"));
        assert!(told[0].starts_with("MySQL 9.7.4 does not start if page 5"), "{told:?}");
        assert!(told[1].contains("not from the newest"), "{told:?}");
        assert!(sentences(PageRecovery::NotTested, "MySQL 8.0.36")[0].contains("was not tried"));
        assert!(
            sentences(PageRecovery::Tested(&[]), "MariaDB")[0].contains("from the newest copy")
        );
    }
}
