//! Small parts that every crate may use.
//!
//! - [`units`]: values as people write them; [`text`]: numbers, sizes, durations and lists as
//!   people read them; [`clock`]: the time of day
//! - [`protection`], [`host_spec`]: the words of a pool and of another machine, in plans and on
//!   command lines
//! - [`version`]: the program's version, with its commit
//! - [`file_locks`]: holders of locks on a file; [`plain_file`]: files in directories that others
//!   can write to
//! - [`text_file`], [`toml_error`]: small files that a user names, and their faults in one line;
//!   [`suggest`]: "did you mean"
//!
//! Guarantees: nothing here prints, and nothing here depends on another crate of the workspace.

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
pub use units::{SettingValue, Size};
