//! The checker itself: it must fail where a drive would have lied.
