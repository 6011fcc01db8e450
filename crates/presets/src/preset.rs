//! Presets: devices as TOML, ours and those that a user names.
//!
//! Each number stands with its mark and source. What is typed wrong is said in one line, with the
//! nearest name.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use assay_base::suggest;
use assay_drive::BLOCK_BYTES;

use super::bounds::check_number;
use super::check;
use super::document::PresetDocument;
use super::fault::InjectedFault;
use super::figure::Mark;
use assay_base::one_line;
use assay_base::text_file;

macro_rules! presets {
    ($($name:literal,)+) => {
        /// The presets that come with Assay: names and texts.
        pub const PRESETS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../models/", $name, ".toml"))),)+];
    };
}

presets! {
    "p4610-3.2",
    "csd2000-3.2",
    "p5600-3.2",
    "s1120-800",
    "s1120-800x2-r1",
    "iodrive2-785",
    "exflash-400",
    "sas15k-r10x6",
    "gp3",
    "nvme-tcp-rf2",
}

/// A device in numbers.
#[derive(Debug, Clone)]
pub struct Preset {
    pub name: String,
    /// Its text, from which [`Preset::parse`] makes it again.
    pub text: String,
    pub document: PresetDocument,
}

/// One number of a preset, as it stands in its text.
#[derive(Debug, Clone, PartialEq)]
pub struct PresetRow {
    /// Section and name.
    pub key: String,
    pub value: toml::Value,
    pub mark: Mark,
    pub source: String,
    /// Why the model does something else, of what is published.
    pub differs: Option<String>,
}

impl PresetRow {
    /// Checks it against what its unit allows; of what is no number there is nothing to check.
    fn check(&self) -> Result<()> {
        let number = self.value.as_float().or(self.value.as_integer().map(|number| number as f64));
        number.map_or(Ok(()), |number| check_number(&self.key, number))
    }
}

impl Preset {
    /// One of ours by its name, or what the TOML file of that name says.
    ///
    /// # Errors
    /// One line: no such preset, with the nearest; or what is wrong with the text.
    pub fn find(named: &str) -> Result<Preset> {
        if let Some((name, text)) = PRESETS.iter().find(|(name, _)| *name == named) {
            return Preset::parse(name, text);
        }
        let path = Path::new(named);
        if !named.contains('/') && path.extension().is_none_or(|extension| extension != "toml") {
            let names = PRESETS.iter().map(|(name, _)| *name);
            let known = match suggest::nearest(named, names.clone()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
            };
            bail!("there is no model `{named}`; {known}");
        }
        let text = text_file::read(path, "preset")?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Preset::parse(&name, &text).map_err(|error| anyhow!("{named}: {error:#}"))
    }

    /// Parses a text under the given name.
    ///
    /// # Errors
    /// One line: what is not understood, or cannot be.
    pub fn parse(name: &str, text: &str) -> Result<Preset> {
        let document: PresetDocument =
            toml::from_str(text).map_err(|error| anyhow!(one_line(&error, text)))?;
        let preset = Preset { name: name.into(), text: text.into(), document };
        preset.check_texts()?;
        preset.rows()?.iter().try_for_each(PresetRow::check)?;
        check::check(&preset.document)?;
        Ok(preset)
    }

    /// Texts are printed to terminals unchanged, so they hold no control characters.
    fn check_texts(&self) -> Result<()> {
        let table: toml::Table = toml::from_str(&self.text)?;
        match first_control("", &toml::Value::Table(table)) {
            None => Ok(()),
            Some(key) => bail!("{key} has a control character in its text; remove it"),
        }
    }

    /// Bytes that it writes all or nothing; of one that does not say, what any drive with sectors
    /// of a block keeps.
    #[must_use]
    pub fn atomic_write_bytes(&self) -> u64 {
        let said = self.document.guarantees.atomic_write_bytes.as_ref();
        said.map_or(BLOCK_BYTES, |figure| figure.value)
    }

    /// The injected faults.
    #[must_use]
    pub fn fault(&self) -> InjectedFault {
        InjectedFault::new(&self.document.fault)
    }

    /// Every number, in the order of the text.
    ///
    /// # Errors
    /// None that a parsed preset could have.
    pub fn rows(&self) -> Result<Vec<PresetRow>> {
        let table: toml::Table = toml::from_str(&self.text)?;
        let sections = table.iter().filter_map(|(name, value)| Some((name, value.as_table()?)));
        let mut rows = Vec::new();
        for (section, figures) in sections {
            for (name, figure) in figures {
                rows.push(row(format!("{section}.{name}"), figure)?);
            }
        }
        Ok(rows)
    }

    /// The weakest mark of these numbers, by section and name; those that are not there do not
    /// count.
    #[must_use]
    pub fn weakest(&self, keys: &[&str]) -> Mark {
        let rows = self.rows().unwrap_or_default();
        let named = rows.iter().filter(|row| keys.contains(&row.key.as_str()));
        named.map(|row| row.mark).max().unwrap_or(Mark::Computed).max(Mark::Computed)
    }
}

/// The key of the first text with a control character that is no line break or tab.
fn first_control(key: &str, value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => {
            let is_strange = |one: char| one.is_control() && !matches!(one, '\n' | '\t');
            text.contains(is_strange).then(|| key.to_owned())
        }
        toml::Value::Table(table) => table.iter().find_map(|(name, value)| {
            let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            first_control(&key, value)
        }),
        _ => None,
    }
}

fn row(key: String, figure: &toml::Value) -> Result<PresetRow> {
    let text = |name: &str| figure.get(name).and_then(toml::Value::as_str).map(str::to_owned);
    let value = figure.get("value").cloned();
    ensure!(value.is_some(), "{key} has no value");
    Ok(PresetRow {
        value: value.context("no value")?,
        mark: figure.get("mark").cloned().context("no mark")?.try_into()?,
        source: text("source").unwrap_or_default(),
        differs: text("differs"),
        key,
    })
}
