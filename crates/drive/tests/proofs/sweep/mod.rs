//! One bad place, anywhere: for each block of a drive's media in turn, damaged in each way, the
//! drive opens, works on, collects, checkpoints, crashes and opens again, and loses nothing but
//! what lay in that very block.
//!
//! `ASSAY_SWEEP=all` tries every block of every specimen; without it some of each kind of structure
//! are tried.

mod case;
mod controls;
mod dictionaries;
mod opening;
mod pairs;
mod repairs;
mod scarred;
mod single;
mod specimen;
mod wedge;
