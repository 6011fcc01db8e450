//! Shared parts of the tests: media that fail, the plain model, random numbers. Each test uses some
//! of it.

#![allow(dead_code)]

pub mod anatomy;
pub mod faulty;
pub mod gate;
pub mod life;
pub mod media;
pub mod model;
pub mod random;
pub mod roots;
pub mod seeds;
pub mod thin_host;
pub mod thin_media;
pub mod torn;
pub mod versions;
