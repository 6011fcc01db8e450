//! What the tests share: media that fail, the plain model, random numbers. Each test uses a part of it.

#![allow(dead_code)]

pub mod anatomy;
pub mod faulty;
pub mod gate;
pub mod media;
pub mod model;
pub mod random;

/// A number from the environment, or the default.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}
