//! How a chart of the second-by-second page is drawn; its series are those that the catalogue gives
//! it.

use assay_study::metrics::{self, Chart as Series, Shown};

/// One chart, drawn once for each configuration, all on one scale.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// Which of the catalogue's; nothing of the one whose series is chosen by name.
    pub(crate) of: Option<Series>,
    /// Name, for the page's hooks.
    pub(crate) name: &'static str,
    /// Heading.
    pub(crate) title: &'static str,
    /// Unit of its y axis.
    pub(crate) unit: Shown,
    /// The measured quantity and where it was measured.
    pub(crate) caption: &'static str,
    /// Series and what they are called in the legend, from the bottom up where they are stacked.
    pub(crate) series: Vec<(&'static str, &'static str)>,
    /// Areas on top of one another instead of lines.
    pub(crate) is_stacked: bool,
    /// The end of the y axis where it is fixed.
    pub(crate) top: Option<f64>,
    /// Whether only configurations on a software drive or a model have it.
    pub(crate) is_of_drive: bool,
}

/// A chart but for its series.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) of: Series,
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: Shown,
    pub(crate) caption: &'static str,
    pub(crate) is_stacked: bool,
    pub(crate) top: Option<f64>,
    pub(crate) is_of_drive: bool,
}

/// A chart of lines that every configuration has.
pub(crate) const fn lines(
    of: Series,
    name: &'static str,
    title: &'static str,
    unit: Shown,
    caption: &'static str,
) -> Layout {
    Layout { of, name, title, unit, caption, is_stacked: false, top: None, is_of_drive: false }
}

/// The same, of configurations alone that stand on a software drive or a model.
pub(crate) const fn of_drive(chart: Layout) -> Layout {
    Layout { is_of_drive: true, ..chart }
}

impl Layout {
    /// With its series.
    pub(crate) fn chart(self) -> Chart {
        let Layout { of, name, title, unit, caption, is_stacked, top, is_of_drive } = self;
        let lines = metrics::all().filter_map(|metric| {
            let line = metric.line.filter(|line| line.chart == of)?;
            Some((line.place, (metric.name, line.role)))
        });
        let mut lines: Vec<(u8, (&str, &str))> = lines.collect();
        lines.sort_by_key(|(place, _)| *place);
        let series = lines.into_iter().map(|(_, line)| line).collect();
        Chart { of: Some(of), name, title, unit, caption, series, is_stacked, top, is_of_drive }
    }
}
