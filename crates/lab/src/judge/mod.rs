//! What a study's records come to: pure functions over what the store keeps.
//!
//! Promises: nothing here asks the machine; what is not known is absent and never zero.

pub(crate) mod chain;
pub(crate) mod cost;
pub(crate) mod durability;
pub(crate) mod endurance;
pub(crate) mod interval;
pub(crate) mod prices;
pub(crate) mod reconcile;
