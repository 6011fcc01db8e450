//! Two configurations, or two studies: whether they may be compared, how far they lie apart, and
//! what may be said of that.

pub(crate) mod alike;
pub(crate) mod between;
pub(crate) mod blocks;
pub(crate) mod chain;
pub(crate) mod circumstances;
pub(crate) mod compare;
pub(crate) mod comparison;
pub(crate) mod contrast;
pub(crate) mod cross;
pub(crate) mod days;
pub(crate) mod detectable;
pub(crate) mod effects;
pub(crate) mod exclusions;
pub(crate) mod family;
pub(crate) mod level;
pub(crate) mod looks;
pub(crate) mod noise;
pub(crate) mod orders;
pub(crate) mod pairs;
pub(crate) mod permute;
pub(crate) mod reason;
pub(crate) mod runs;
pub(crate) mod starts;
pub(crate) mod steps;
pub(crate) mod studies;
pub(crate) mod taken;
pub(crate) mod verdict;
