//! Invented seconds with known truths, for tests.

use assay_load::random::Rng;

/// Random numbers of one seed.
pub struct Noise(Rng);

impl Noise {
    pub fn new(seed: u64) -> Noise {
        Noise(Rng::new(seed, 0))
    }

    pub fn uniform(&mut self) -> f64 {
        self.0.unit()
    }

    /// Standard normal (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A stationary first-order autoregression around `mean`, its seconds' deviation a share of it.
pub fn autoregression(
    noise: &mut Noise,
    seconds: usize,
    mean: f64,
    deviation: f64,
    rho: f64,
) -> Vec<f64> {
    let mut state = noise.normal();
    let mut next = || {
        state = rho * state + (1.0 - rho * rho).sqrt() * noise.normal();
        mean * (1.0 + deviation * state)
    };
    (0..seconds).map(|_| next()).collect()
}
