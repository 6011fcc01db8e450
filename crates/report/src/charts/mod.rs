//! Charts: Plotly's traces and layouts, and one SVG, with their captions.

pub(crate) mod drive;
pub(crate) mod forest;
pub(crate) mod highlights;
pub(crate) mod layout;
pub(crate) mod looks;
pub(crate) mod model;
pub(crate) mod plots;
pub(crate) mod pool;
pub(crate) mod series;
pub(crate) mod sweeps;
pub(crate) mod tails;
pub(crate) mod timeline;
pub(crate) mod write_path_flow;
