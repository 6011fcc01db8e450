//! The drive under real threads.

mod failure;
mod history;
mod isolation;
mod upkeep;
