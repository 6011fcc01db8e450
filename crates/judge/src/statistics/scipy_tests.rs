//! Where a method leaves nothing to chance, scipy gets the same figures.

use std::process::Command;

use serde_json::{Value, json};

use super::*;
use assay_testing::skip;

const ORACLE: &str = r#"
import json, sys
import numpy as np
from scipy import stats
q = json.load(sys.stdin)
a, b, s, p = (np.array(q[k]) for k in ("a", "b", "series", "p"))
order = np.argsort(p)
holm = np.empty(len(p))
holm[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
d = b[:len(a)] - a
signs = np.array(np.meshgrid(*[[-1, 1]] * len(d))).reshape(len(d), -1)
flips = np.mean(np.abs(signs.T @ d) >= abs(d.sum()) * (1 - 1e-12))
both = stats.permutation_test((a, b), lambda x, y, axis: np.abs(np.mean(x, axis=axis) - np.mean(y, axis=axis)),
    n_resamples=np.inf, alternative="greater", vectorized=True)
welch = stats.ttest_ind(b, a, equal_var=False)
va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
df = (va + vb) ** 2 / (va ** 2 / (len(a) - 1) + vb ** 2 / (len(b) - 1))
reach = stats.t.ppf(.975, df) * (va + vb) ** .5
one = stats.ttest_1samp(d, 0)
within = one.confidence_interval(0.95)
c = s - s.mean()
t = np.arange(len(s))
n, m = len(s), q["cosines"]
# Scipy's type II transform carries a factor of 2.
transforms = 0.5 * __import__("scipy.fft", fromlist=["dct"]).dct(s, type=2)[1:m + 1] * np.sqrt(2 / n)
nc = lambda e, sd, r: (stats.nct.sf(stats.t.ppf(.975, r - 1), r - 1, e / sd * r ** .5)
    + stats.nct.cdf(-stats.t.ppf(.975, r - 1), r - 1, e / sd * r ** .5))
json.dump({
    "t": [stats.t.ppf(x, df) for x, df in q["t"]],
    "t_p": [2 * stats.t.sf(abs(x), df) for x, df in q["t_p"]],
    "normal": [stats.norm.cdf(x) for x in q["normal"]],
    "quantiles": [float(np.quantile(s, x)) for x in q["quantiles"]],
    "mad": stats.median_abs_deviation(s) * 1.4826,
    "sd": float(np.std(s, ddof=1)),
    "holm": holm.tolist(),
    "welch": [welch.pvalue, df, b.mean() - a.mean() - reach, b.mean() - a.mean() + reach],
    "paired": [one.pvalue, within.low, within.high],
    "flips": float(flips),
    "exchange": float(both.pvalue),
    "slope": stats.linregress(t, s).slope,
    "acf": [float((c[k:] * c[:n - k]).sum() / (c * c).sum()) for k in (1, 2, 5)],
    "variance": float((transforms ** 2).mean() / n),
    "power": [float(nc(*x)) for x in q["power"]],
}, sys.stdout)
"#;

/// What scipy says, or nothing where it is not installed. The system's interpreter first: distribution packages are for
/// that one.
fn scipy(question: &Value) -> Option<Value> {
    let python = ["/usr/bin/python3", "python3"].into_iter().find(|python| {
        Command::new(python)
            .args(["-c", "import scipy"])
            .output()
            .is_ok_and(|ran| ran.status.success())
    })?;
    let directory = tempfile::tempdir().unwrap();
    let asked = directory.path().join("question.json");
    std::fs::write(&asked, question.to_string()).unwrap();
    let ran = Command::new(python)
        .args(["-c", ORACLE])
        .stdin(std::fs::File::open(asked).unwrap())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(serde_json::from_slice(&ran.stdout).unwrap())
}

fn close(ours: &[f64], theirs: &Value, what: &str) {
    let theirs: Vec<f64> = match theirs.as_array() {
        Some(all) => all.iter().map(|one| one.as_f64().unwrap()).collect(),
        None => vec![theirs.as_f64().unwrap()],
    };
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let off = (ours - theirs).abs() / theirs.abs().max(1.0);
        assert!(off < 1e-6, "{what}: {ours}, scipy says {theirs}");
    }
}

#[test]
fn scipy_agrees() {
    let a = [101.0, 98.5, 103.2, 99.9, 97.1];
    let b = [104.2, 101.0, 108.8, 100.3, 103.7, 99.0];
    let mut noise = simulated::Noise::new(11);
    let series = simulated::autoregression(&mut noise, 50, 100.0, 0.1, 0.4);
    let p = [0.04, 0.001, 0.03, 0.2, 0.03];
    let t = [(0.975, 1.0), (0.975, 2.7), (0.9, 11.0), (0.02, 4.0), (0.995, 300.5)];
    let t_p = [(2.1, 3.0), (-0.4, 1.5), (7.0, 40.0)];
    let normal = [-3.0, -0.2, 0.0, 1.96];
    let shares = [0.0, 0.05, 0.5, 0.95, 0.999];
    let powers = [(0.05, 0.03, 5), (0.02, 0.03, 2), (0.1, 0.03, 3)];
    let known = mean_variance(&series).unwrap();
    let question = json!({
        "a": a, "b": b, "series": series, "p": p, "t": t, "t_p": t_p, "normal": normal,
        "quantiles": shares, "cosines": known.df as u32, "power": powers,
    });
    let Some(theirs) = scipy(&question) else {
        return skip("scipy (Debian's python3-scipy)");
    };
    close(&t.map(|(p, df)| t_quantile(p, df)), &theirs["t"], "t quantiles");
    close(&t_p.map(|(t, df)| t_two_sided_p(t, df)), &theirs["t_p"], "p of t");
    close(&normal.map(normal_cdf), &theirs["normal"], "normal");
    close(&shares.map(|share| quantile(&series, share)), &theirs["quantiles"], "quantiles");
    close(&[median_deviation(&series)], &theirs["mad"], "median deviation");
    close(&[standard_deviation(&series)], &theirs["sd"], "standard deviation");
    close(&holm(&p), &theirs["holm"], "Holm");
    let welch = unpaired(&a, &b).unwrap();
    let (low, high) = welch.interval(0.95);
    close(&[welch.p(), welch.df, low, high], &theirs["welch"], "Welch");
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
    let pairs = paired(&differences).unwrap();
    let (low, high) = pairs.interval(0.95);
    close(&[pairs.p(), low, high], &theirs["paired"], "paired t");
    close(&[flip_signs(&differences, 1).unwrap().p], &theirs["flips"], "flipped signs");
    close(&[exchange(&a, &b, 1).unwrap().p], &theirs["exchange"], "exchanged values");
    close(&[line(&series, 0.95).unwrap().slope], &theirs["slope"], "slope");
    let lags = [1, 2, 5].map(|lag| autocorrelation(&series, lag));
    close(&lags, &theirs["acf"], "autocorrelation");
    close(&[known.variance], &theirs["variance"], "variance of the mean");
    let ours = powers.map(|(effect, deviation, repeats)| power(effect, deviation, repeats, 0.95));
    close(&ours, &theirs["power"], "power");
}
