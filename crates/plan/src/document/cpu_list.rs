//! CPUs as people write them: `"0-3,8"`.

use std::fmt;

use assay_base::SettingValue;
use assay_ports::cpu;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list of CPUs as the kernel writes it, `0-3,8`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuList(pub Vec<usize>);

impl CpuList {
    /// Whether it names none, which means all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&numbers.join(","))
    }
}

impl Serialize for CpuList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CpuList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CpuList, D::Error> {
        let text = SettingValue::deserialize(deserializer)?.0;
        cpu::parse_list(&text).map(CpuList).map_err(D::Error::custom)
    }
}
