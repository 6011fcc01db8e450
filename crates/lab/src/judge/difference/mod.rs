//! Two arms, or two studies: whether they may be compared, how far they lie apart, and what may be said of that.

pub(in crate::judge) mod alike;
pub(in crate::judge) mod circumstances;
pub(in crate::judge) mod compare;
pub(in crate::judge) mod level;
pub(in crate::judge) mod noise;
pub(in crate::judge) mod permute;
pub(in crate::judge) mod reason;
pub(in crate::judge) mod studies;
pub(in crate::judge) mod verdict;
