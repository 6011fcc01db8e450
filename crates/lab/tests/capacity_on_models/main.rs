//! The search for the highest rate within an objective on our own device models, in virtual time: nobody waits, and no machine is
//! too slow for it. Each check is shown to fail on a search that must not pass it.

mod device;
mod flash;
mod volume;
