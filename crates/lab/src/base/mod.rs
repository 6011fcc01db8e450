//! What stands below everything: values as people write them, small files that they name, and what is wrong in those.

pub(crate) mod clock;
pub(crate) mod sync;
pub(crate) mod text;
pub(crate) mod text_file;
mod toml_error;
pub(crate) mod units;

pub(crate) use toml_error::one_line;
pub use units::{CpuList, Size, Unit, Value};
