//! Estimates of files whose truth is known, and of a server's.
