//! Where a method leaves nothing to chance, scipy computes the same figures.
//!
//! `crates/judge/judge/scipy.json` holds scipy's figures, as `crates/judge/judge/record` recorded
//! them. With `--full` scipy computes them again, and both this crate and the recording are
//! compared with those.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::*;
use assay_testing::{is_recording, record, skip};

const ORACLE: &str = r#"
import json, sys
import numpy as np
from scipy import stats
q = json.load(sys.stdin)
a, b, s, p = (np.array(q[k]) for k in ("a", "b", "series", "p"))
order = np.argsort(p)
holm = np.empty(len(p))
holm[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
ranks = np.arange(1, len(p) + 1)
bh = np.empty(len(p))
bh[order] = np.minimum.accumulate((p[order] * len(p) / ranks)[::-1])[::-1]
bounds = lambda hits, of: stats.binomtest(hits, of).proportion_ci(0.95, method="exact")
table = lambda one, other: [[x, n - x] for x, n in (one, other)]
left_out = np.array([np.delete(a, i).mean() for i in range(len(a))])
d = b[:len(a)] - a
signs = np.array(np.meshgrid(*[[-1, 1]] * len(d))).reshape(len(d), -1)
flips = np.mean(np.abs(signs.T @ d) >= abs(d.sum()) * (1 - 1e-12))
apart = lambda x, y, axis: np.abs(np.mean(x, axis=axis) - np.mean(y, axis=axis))
both = stats.permutation_test((a, b), apart,
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
dct = __import__("scipy.fft", fromlist=["dct"]).dct
transforms = 0.5 * dct(s, type=2)[1:m + 1] * np.sqrt(2 / n)
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
    "benjamini_hochberg": np.minimum(bh, 1).tolist(),
    "clopper_pearson": [x for shares in q["shares"] for x in bounds(*shares)],
    "fisher": [stats.fisher_exact(table(*both)).pvalue for both in q["fisher"]],
    "jackknife": float(((len(a) - 1) / len(a) * ((left_out - left_out.mean()) ** 2).sum()) ** .5),
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

/// Scipy's figures; `None` if it is not installed. Tries the system's interpreter first:
/// distribution packages are for that one.
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

/// The recorded figures, by name.
fn recorded() -> Value {
    serde_json::from_str(include_str!("../../judge/scipy.json")).unwrap()
}

fn figures(value: &Value) -> Vec<f64> {
    match value.as_array() {
        Some(all) => all.iter().map(|one| one.as_f64().unwrap()).collect(),
        None => vec![value.as_f64().unwrap()],
    }
}

fn close(ours: &[f64], theirs: &Value, what: &str) {
    let theirs = figures(theirs);
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let off = (ours - theirs).abs() / theirs.abs().max(1.0);
        assert!(off < 1e-6, "{what}: {ours}, scipy computes {theirs}");
    }
}

const A: [f64; 5] = [101.0, 98.5, 103.2, 99.9, 97.1];
const B: [f64; 6] = [104.2, 101.0, 108.8, 100.3, 103.7, 99.0];
const P: [f64; 5] = [0.04, 0.001, 0.03, 0.2, 0.03];
const HITS: [(u64, u64); 4] = [(0, 10), (3, 100), (99, 100), (7, 7)];
const FISHER: [[[u64; 2]; 2]; 3] = [[[5, 8], [0, 8]], [[3, 5], [1, 5]], [[10, 12], [2, 10]]];
const T: [(f64, f64); 5] = [(0.975, 1.0), (0.975, 2.7), (0.9, 11.0), (0.02, 4.0), (0.995, 300.5)];
const T_P: [(f64, f64); 3] = [(2.1, 3.0), (-0.4, 1.5), (7.0, 40.0)];
const NORMAL: [f64; 4] = [-3.0, -0.2, 0.0, 1.96];
const SHARES: [f64; 5] = [0.0, 0.05, 0.5, 0.95, 0.999];
const POWERS: [(f64, f64, u32); 3] = [(0.05, 0.03, 5), (0.02, 0.03, 2), (0.1, 0.03, 3)];

fn series() -> Vec<f64> {
    simulated::autoregression(&mut simulated::Noise::new(11), 50, 100.0, 0.1, 0.4)
}

/// Compares this crate's figures with scipy's.
fn compare(theirs: &Value) {
    let series = series();
    close(&T.map(|(p, df)| t_quantile(p, df)), &theirs["t"], "t quantiles");
    close(&T_P.map(|(t, df)| t_two_sided_p(t, df)), &theirs["t_p"], "p of t");
    close(&NORMAL.map(normal_cdf), &theirs["normal"], "normal");
    close(&SHARES.map(|share| quantile(&series, share)), &theirs["quantiles"], "quantiles");
    close(&[median_deviation(&series)], &theirs["mad"], "median deviation");
    close(&[standard_deviation(&series)], &theirs["sd"], "standard deviation");
    close(&holm(&P), &theirs["holm"], "Holm");
    close(&benjamini_hochberg(&P), &theirs["benjamini_hochberg"], "Benjamini and Hochberg");
    let bounds = HITS.iter().flat_map(|(hits, of)| clopper_pearson(*hits, *of, 0.025).unwrap());
    close(&bounds.collect::<Vec<f64>>(), &theirs["clopper_pearson"], "Clopper and Pearson");
    close(&FISHER.map(|[one, other]| fisher(one, other)), &theirs["fisher"], "Fisher");
    let without = |place: usize| {
        let rest = A.iter().enumerate().filter(|(other, _)| *other != place);
        mean(&rest.map(|(_, value)| *value).collect::<Vec<f64>>())
    };
    let left_out: Vec<f64> = (0..A.len()).map(without).collect();
    close(&[jackknife(mean(&A), &left_out).unwrap().error], &theirs["jackknife"], "jackknife");
    let welch = unpaired(&A, &B).unwrap();
    let (low, high) = welch.interval(0.95);
    close(&[welch.p(), welch.df, low, high], &theirs["welch"], "Welch");
    let differences: Vec<f64> = A.iter().zip(&B).map(|(a, b)| b - a).collect();
    let pairs = paired(&differences).unwrap();
    let (low, high) = pairs.interval(0.95);
    close(&[pairs.p(), low, high], &theirs["paired"], "paired t");
    close(&[flip_signs(&differences, 1).unwrap().p], &theirs["flips"], "flipped signs");
    close(&[exchange(&A, &B, 1).unwrap().p], &theirs["exchange"], "exchanged values");
    close(&[line(&series, 0.95).unwrap().slope], &theirs["slope"], "slope");
    let lags = [1, 2, 5].map(|lag| autocorrelation(&series, lag));
    close(&lags, &theirs["acf"], "autocorrelation");
    let known = mean_variance(&series).unwrap();
    close(&[known.variance], &theirs["variance"], "variance of the mean");
    let ours = POWERS.map(|(effect, deviation, repeats)| power(effect, deviation, repeats, 0.95));
    close(&ours, &theirs["power"], "power");
}

#[test]
fn the_figures_are_those_recorded_of_scipy() {
    compare(&recorded());
}

#[test]
#[ignore = "in --full: runs scipy"]
fn scipy_agrees_with_ours_and_with_its_recording() {
    let known = mean_variance(&series()).unwrap();
    let question = json!({
        "a": A, "b": B, "series": series(), "p": P, "t": T, "t_p": T_P, "normal": NORMAL,
        "quantiles": SHARES, "cosines": known.df as u32, "power": POWERS, "shares": HITS,
        "fisher": FISHER,
    });
    let Some(theirs) = scipy(&question) else {
        return skip("scipy (Debian's python3-scipy)");
    };
    let theirs = theirs.as_object().unwrap();
    if is_recording() {
        let answers: Vec<_> =
            theirs.iter().map(|(name, figures)| (name.clone(), figures.to_string())).collect();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("judge/scipy.json");
        return record(&file, &answers);
    }
    compare(&Value::Object(theirs.clone()));
    let recorded = recorded();
    assert!(recorded.as_object().unwrap().keys().eq(theirs.keys()), "the recording's names");
    for (name, figure) in theirs {
        close(&figures(&recorded[name]), figure, name);
    }
}

/// The negative control: figures that are a little off are found to be off.
#[test]
fn the_comparison_finds_a_figure_that_is_off() {
    for name in recorded().as_object().unwrap().keys() {
        let mut theirs = recorded();
        let figure = match &mut theirs[name] {
            Value::Array(all) => all.last_mut().unwrap(),
            one => one,
        };
        *figure = (figure.as_f64().unwrap() + 1e-3).into();
        assert!(std::panic::catch_unwind(|| compare(&theirs)).is_err(), "{name}");
    }
}
