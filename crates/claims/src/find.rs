//! Finds shipped papers by name and the user's own by path.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use assay_base::suggest::nearest;

use super::paper::ParsedPaper;
use assay_base::text_file;

macro_rules! papers {
    ($($name:literal,)+) => {
        /// Names and texts of the shipped papers.
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

/// All shipped papers.
pub fn all() -> Result<Vec<ParsedPaper>> {
    PAPERS.iter().map(|(name, text)| ParsedPaper::parse(name, text)).collect()
}

/// The shipped paper of this name, or the one in the TOML file `named`.
///
/// An error names the most similar paper, or the file, the line and the error in it.
pub fn find(named: &str) -> Result<ParsedPaper> {
    let inside = named.strip_prefix("claims/").and_then(|rest| rest.strip_suffix(".toml"));
    let path = Path::new(named);
    if let Some((name, text)) = PAPERS.iter().find(|(name, _)| *name == inside.unwrap_or(named))
        && (inside.is_none() || !path.exists())
    {
        return ParsedPaper::parse(name, text);
    }
    if !named.contains('/') && path.extension().is_none_or(|extension| extension != "toml") {
        bail!(no_such_paper(named));
    }
    let text = text_file::read(path, "claims")?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    ParsedPaper::parse(&name, &text).map_err(|error| anyhow!("{named}: {error:#}"))
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

/// The paper that a study repeats: the claims that its plan names, else those with its title.
///
/// Fails if the study repeats no shipped paper.
pub fn of_study(paper: Option<&assay_study::Paper>) -> Result<ParsedPaper> {
    let none = "the study's plan does not repeat a paper; name the claims to compare with";
    let paper = paper.with_context(|| none.to_owned())?;
    if let Some(named) = &paper.claims {
        return find(named);
    }
    let known = all()?.into_iter().find(|ours| ours.document.title == paper.title);
    known.with_context(|| none.to_owned())
}
