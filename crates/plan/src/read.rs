//! Reading a plan: a file or a built-in text, its overlays, and one of its forms; all forms are
//! checked.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use assay_base::{one_line, text_file};

use super::check::check_use_of_server;
use super::complete::complete;
use super::document::Plan;
use super::experiment::Experiment;
use super::overlay;
use super::quick::{self, PlanForm};
use super::shipped::{PLANS, no_such_plan, text as shipped_text};

/// A plan that was read, with what a study stores of it.
#[derive(Debug)]
pub struct ReadPlan {
    /// The form that was asked for.
    pub plan: Plan,
    /// The text of all forms.
    pub text: String,
    /// Differences of the quick profile from the full one, in words; `None` for the full one.
    pub form: Option<String>,
}

/// Both forms of a plan's text, complete and checked.
pub(crate) struct Forms {
    pub(crate) full: Plan,
    pub(crate) quick: Option<Plan>,
}

impl Forms {
    pub(crate) fn parse(text: &str) -> Result<Forms> {
        let mut full: Plan =
            toml::from_str(text).map_err(|error| anyhow::Error::msg(one_line(&error, text)))?;
        let quick = full.quick.take();
        let full = checked(full)?;
        let merged = |quick| quick::merged(text, quick).and_then(checked).context("[quick]");
        Ok(Forms { full, quick: quick.map(merged).transpose()? })
    }

    pub(crate) fn choose(self, form: PlanForm, text: String) -> Result<ReadPlan> {
        match (form, self.quick) {
            (PlanForm::Full, _) => Ok(ReadPlan { plan: self.full, text, form: None }),
            (PlanForm::Quick, Some(quick)) => {
                let form = Some(quick::told(&self.full, &quick));
                Ok(ReadPlan { plan: quick, text, form })
            }
            (PlanForm::Quick, None) => {
                bail!("the plan has no quick profile; run it without --quick, or add [quick] to it")
            }
        }
    }
}

fn checked(mut plan: Plan) -> Result<Plan> {
    ensure!(
        plan.sessions.is_default(),
        "sessions is no key of a plan: assay run --another-session adds a session to a study"
    );
    complete(&mut plan)?;
    Experiment::of(plan.clone())?;
    check_use_of_server(&plan)?;
    Ok(plan)
}

impl Plan {
    /// The full form of a text, with the other checked.
    ///
    /// # Errors
    /// One line: what no plan may say, and where.
    pub fn parse(text: &str) -> Result<Plan> {
        Ok(Forms::parse(text)?.full)
    }

    /// Reads and checks all forms of a plan: of the file `path`, or of the built-in plan of that
    /// name. Returns the form that is asked for.
    ///
    /// # Errors
    /// One line: the file, the line in it, what is wrong and the nearest thing that would be right.
    pub fn read(path: &Path, form: PlanForm) -> Result<ReadPlan> {
        Plan::read_with(path, form, &[])
    }

    /// As [`Plan::read`], with overlays merged over all forms: files, or those that come with
    /// Assay, by their names.
    ///
    /// # Errors
    /// As [`Plan::read`]; or one line about an overlay.
    pub fn read_with(path: &Path, form: PlanForm, overlays: &[PathBuf]) -> Result<ReadPlan> {
        let text = overlay::merged(text_of(path)?, overlays)?;
        let read = Forms::parse(&text).and_then(|forms| forms.choose(form, text));
        read.with_context(|| path.display().to_string())
    }

    /// The quick profile of the built-in plan `demo`, even if there is a file of that name.
    ///
    /// # Errors
    /// None; it comes with Assay.
    pub fn demo() -> Result<ReadPlan> {
        let text = shipped_text("demo").context("no plan is called `demo`")?;
        Forms::parse(text)?.choose(PlanForm::Quick, text.to_owned())
    }

    /// The quick profile of the plan that `assay demo` runs where no drive can be attached.
    ///
    /// # Errors
    /// None; it comes with Assay.
    pub fn demo_in_a_directory() -> Result<ReadPlan> {
        let text = shipped_text("doublewrite").context("no plan is called `doublewrite`")?;
        Forms::parse(text)?.choose(PlanForm::Quick, text.to_owned())
    }
}

/// Every plan that comes with Assay in each of its forms: name, form, plan.
///
/// # Errors
/// None; the tests read them all.
pub fn shipped() -> Result<Vec<(&'static str, PlanForm, Plan)>> {
    let mut all = Vec::new();
    for (name, text) in PLANS {
        let Forms { full, quick } = Forms::parse(text).context(*name)?;
        all.push((*name, PlanForm::Full, full));
        all.extend(quick.map(|quick| (*name, PlanForm::Quick, quick)));
    }
    Ok(all)
}

fn text_of(path: &Path) -> Result<String> {
    let what = || format!("cannot read the plan {}", path.display());
    // A study is called after its plan unless somebody says otherwise: its directory hides no plan.
    let metadata = path.metadata();
    if !metadata.as_ref().is_ok_and(std::fs::Metadata::is_file)
        && let Some(text) = path.to_str().and_then(shipped_text)
    {
        return Ok(text.to_owned());
    }
    if let (Err(error), Some(named)) = (metadata, path.to_str()) {
        if let Some(line) = no_such_plan(named) {
            bail!(line);
        }
        return Err(error).with_context(what);
    }
    text_file::read(path, "plan")
}

#[cfg(test)]
impl Plan {
    /// The quick profile of a text.
    pub(crate) fn parse_quick(text: &str) -> Result<Plan> {
        Ok(Forms::parse(text)?.choose(PlanForm::Quick, String::new())?.plan)
    }
}
