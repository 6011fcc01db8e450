//! Locks, condition variables and counters that threads share: `parking_lot`'s, or those of a scheduler that decides at
//! each of them who goes on, so that one seed repeats every interleaving.

#[cfg(not(interleaved))]
pub(crate) use parking_lot::{
    Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
#[cfg(not(interleaved))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32};

#[cfg(interleaved)]
pub(crate) use scheduled::{Condvar, Mutex, MutexGuard, RwLock};
#[cfg(interleaved)]
pub(crate) use shuttle::sync::{
    RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicBool, AtomicU32},
};

/// The scheduler's locks as `parking_lot` calls them: a panic elsewhere leaves them as they are.
#[cfg(interleaved)]
mod scheduled {
    use std::ops::{Deref, DerefMut};
    use std::sync::PoisonError;

    use shuttle::sync;

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(sync::Mutex<T>);

    /// Nothing only while a condition variable has it.
    pub(crate) struct MutexGuard<'a, T>(Option<sync::MutexGuard<'a, T>>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
        }
    }

    const HELD: &str = "a guard that nobody waits with holds its lock";

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        #[expect(clippy::expect_used, reason = "see HELD")]
        fn deref(&self) -> &T {
            self.0.as_ref().expect(HELD)
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        #[expect(clippy::expect_used, reason = "see HELD")]
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect(HELD)
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct Condvar(sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Condvar {
            Condvar(sync::Condvar::new())
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let held = guard.0.take();
            guard.0 = held.map(|held| self.0.wait(held).unwrap_or_else(PoisonError::into_inner));
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct RwLock<T>(sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> RwLock<T> {
            RwLock(sync::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> sync::RwLockReadGuard<'_, T> {
            self.0.read().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn write(&self) -> sync::RwLockWriteGuard<'_, T> {
            self.0.write().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn into_inner(self) -> T {
            self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
