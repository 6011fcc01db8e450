//! The result of an audit: the findings, the verdict, and remedies.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::findings::{AuditFindings, AuditRequest};
use crate::remedies::{Remedy, remedies};
use crate::verdict::{AuditVerdict, judge};

/// The result of an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    #[serde(flatten)]
    pub verdict: AuditVerdict,
    /// Ordered by urgency.
    pub remedies: Vec<Remedy>,
    #[serde(flatten)]
    pub findings: AuditFindings,
}

impl Audit {
    /// Examines the place and judges it. Fails only if the directory or the server is inaccessible;
    /// anything else that cannot be examined becomes a reason in the verdict.
    pub fn make(request: &AuditRequest) -> Result<Audit> {
        let findings = AuditFindings::collect(request)?;
        let verdict = judge(&findings);
        Ok(Audit { remedies: remedies(&findings, &verdict), verdict, findings })
    }
}
