//! What stands below everything.
//!
//! - [`units`]: values as people write them; [`text`]: numbers, sizes, durations and lists as they read them; [`clock`]: the time of day
//! - [`protection`]: how a pool keeps data, as people write it; [`host_spec`]: another machine, as they name it
//! - [`version`]: this program's, with its commit
//! - [`file_locks`]: who holds a lock on a file; [`plain_file`]: files in directories that others may have filled
//! - [`text_file`], [`toml_error`]: small files that people name, and what is wrong in them, in one line; [`suggest`]: "did you mean"
//!
//! Guarantees: nothing here prints, and nothing knows what it is used for.

pub mod clock;
pub mod file_locks;
pub mod host_spec;
pub mod plain_file;
pub mod protection;
pub mod suggest;
pub mod text;
pub mod text_file;
pub mod toml_error;
pub mod units;
pub mod version;

pub use host_spec::HostSpec;
pub use toml_error::{one_line, without_line};
pub use units::{Size, Value};
