//! Two bad places at once.
