//! Parts of the page: a template, a style sheet and a script, each in files of one idea, joined
//! here.

use anyhow::{Context, Result};
use minijinja::{Environment, UndefinedBehavior};

/// The page from top to bottom. Macros stand before what uses them.
const PAGE: &str = concat!(
    include_str!("assets/page/frame.html"),
    include_str!("assets/page/macros.html"),
    include_str!("assets/page/masthead.html"),
    include_str!("assets/page/bar.html"),
    include_str!("assets/page/safety.html"),
    include_str!("assets/page/power_cuts.html"),
    include_str!("assets/page/throughput.html"),
    include_str!("assets/page/tails.html"),
    include_str!("assets/page/several.html"),
    include_str!("assets/page/phases.html"),
    include_str!("assets/page/seconds.html"),
    include_str!("assets/page/space.html"),
    include_str!("assets/page/worth.html"),
    include_str!("assets/page/claims.html"),
    include_str!("assets/page/caveats.html"),
    include_str!("assets/page/summary.html"),
    include_str!("assets/page/write_path.html"),
    include_str!("assets/page/drives.html"),
    include_str!("assets/page/setup.html"),
    include_str!("assets/page/end.html"),
);

/// The style sheet: what is narrow and what is printed change what stands before them.
pub(crate) const STYLE: &str = concat!(
    include_str!("assets/style/base.css"),
    include_str!("assets/style/opening.css"),
    include_str!("assets/style/tables.css"),
    include_str!("assets/style/charts.css"),
    include_str!("assets/style/parts.css"),
    include_str!("assets/style/answer.css"),
    include_str!("assets/style/controls.css"),
    include_str!("assets/style/narrow.css"),
    include_str!("assets/style/print.css"),
);

/// The script, one function around all of its parts.
pub(crate) const SCRIPT: &str = concat!(
    include_str!("assets/script/theme.js"),
    include_str!("assets/script/roles.js"),
    include_str!("assets/script/series.js"),
    include_str!("assets/script/charts.js"),
    include_str!("assets/script/configurations.js"),
    include_str!("assets/script/picture.js"),
    include_str!("assets/script/menu.js"),
    include_str!("assets/script/zoom.js"),
    include_str!("assets/script/address.js"),
    include_str!("assets/script/tables.js"),
    include_str!("assets/script/scrolling.js"),
    include_str!("assets/script/headings.js"),
    include_str!("assets/script/copy.js"),
    include_str!("assets/script/print.js"),
    include_str!("assets/script/wiring.js"),
);

/// An environment that knows every part and prints nothing that is not there.
///
/// # Errors
/// A part that is no template, which is a mistake of ours.
pub(crate) fn environment() -> Result<Environment<'static>> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // The names' endings switch the escaping of everything printed on.
    environment.add_template("report.html", PAGE).context("the report's template")?;
    Ok(environment)
}

/// Plotly's script, the bundle of scatter, bar and pie charts; MIT licence, in its first lines.
pub(crate) fn plotly_script() -> &'static str {
    include_str!("assets/plotly/plotly-basic.min.js")
}
