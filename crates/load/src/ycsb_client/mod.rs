//! YCSB 0.17.0's command line and property files, and its closing lines.
//!
//! [`parse`] turns the words of `bin/ycsb load|run jdbc -P FILE -p KEY=VALUE …` into the
//! configuration of this crate; a property that is not known is named and refused, as one that YCSB
//! would have silently ignored. [`closing`] makes YCSB's lines, [`beyond`] what YCSB does not
//! measure.

mod assemble;
mod closing;
mod each;
mod export;
mod help;
mod jdbc_url;
mod line;
mod properties;
mod published;

pub use closing::{Closing, beyond, closing, status};
pub use export::Exporter;
pub use help::help;
pub use line::{MeasurementInterval, MeasurementType, YcsbCommand, YcsbLine, YcsbReporting, parse};
