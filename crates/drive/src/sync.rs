//! Locks, condition variables and atomics that threads share: those of the standard library, or
//! those of a scheduler that chooses at each of them which thread goes on, so that one seed repeats
//! every interleaving.

#[cfg(interleaved)]
pub(crate) use shuttle::sync::{
    Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicBool, AtomicU32},
};
#[cfg(not(interleaved))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicBool, AtomicU32},
};

/// The value behind a lock, also after a panic. Only for values that are whole between any two
/// statements. The log and the map are not: a panic there stops the drive.
pub(crate) fn whole<T>(held: Result<T, std::sync::PoisonError<T>>) -> T {
    held.unwrap_or_else(std::sync::PoisonError::into_inner)
}
