//! The papers that come with Assay, and those that a user names.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use assay_base::suggest::nearest;

use super::paper::Paper;
use assay_base::text_file;

macro_rules! papers {
    ($($name:literal,)+) => {
        /// The papers that come with Assay: names and texts.
        pub const PAPERS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../claims/", $name, ".toml"))),)+];
    };
}

papers! {
    "percona-scaleflux-2020",
    "stec-2013",
    "exflash-2015",
    "fungible-2021",
}

/// All of ours.
///
/// # Errors
/// None: every one of them is read by a test.
pub fn all() -> Result<Vec<Paper>> {
    PAPERS.iter().map(|(name, text)| Paper::parse(name, text)).collect()
}

/// One of ours by its name, or what the TOML file of that name says.
///
/// # Errors
/// One line: no such paper, with the nearest; or the file, the line in it, and what is wrong there.
pub fn find(named: &str) -> Result<Paper> {
    let inside = named.strip_prefix("claims/").and_then(|rest| rest.strip_suffix(".toml"));
    let path = Path::new(named);
    if let Some((name, text)) = PAPERS.iter().find(|(name, _)| *name == inside.unwrap_or(named))
        && (inside.is_none() || !path.exists())
    {
        return Paper::parse(name, text);
    }
    if !named.contains('/') && path.extension().is_none_or(|extension| extension != "toml") {
        bail!(no_such_paper(named));
    }
    let text = text_file::read(path, "claims")?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Paper::parse(&name, &text).map_err(|error| anyhow!("{named}: {error:#}"))
}

fn no_such_paper(named: &str) -> String {
    let names = || PAPERS.iter().map(|(name, _)| *name);
    let known = match nearest(named, names()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            format!("there are {}; or name a TOML file", names().collect::<Vec<_>>().join(", "))
        }
    };
    format!("there are no claims `{named}`; {known}")
}

/// The one whose plan made a study: that which its plan names, else that of the title which its plan has.
///
/// # Errors
/// One line: the study stands beside no paper of ours.
pub fn of_study(paper: Option<&assay_study::Paper>) -> Result<Paper> {
    let none = "the study's plan does not repeat a paper; name the claims to compare with";
    let paper = paper.with_context(|| none.to_owned())?;
    if let Some(named) = &paper.claims {
        return find(named);
    }
    let known = all()?.into_iter().find(|one| one.document.title == paper.title);
    known.with_context(|| none.to_owned())
}
