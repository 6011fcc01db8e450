//! Locks, condition variables and counters that threads share: the standard library's, or those of a scheduler that
//! decides at each of them who goes on, so that one seed repeats every interleaving.

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

/// What a lock guards, also after a panic elsewhere: for what is whole between any two statements. Log and map are not:
/// there a panic stops the drive.
pub(crate) fn whole<T>(held: Result<T, std::sync::PoisonError<T>>) -> T {
    held.unwrap_or_else(std::sync::PoisonError::into_inner)
}
