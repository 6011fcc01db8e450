//! How a configuration looks, everywhere: its colour in the light and in the dark, and its marker.
//! Dashes are left to what a line is of.
//!
//! Colours are those of Okabe and Ito ("Color Universal Design", 2008), darkened for a light page
//! and lightened for a dark one until they reach the 3:1 that WCAG 2.2 (1.4.11) asks of graphics; a
//! test computes it. Markers differ too, so that no configuration is told by colour alone.

/// The look of one configuration.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    /// Colour on a light page.
    pub(crate) light: &'static str,
    /// Colour on a dark page.
    pub(crate) dark: &'static str,
    /// Marker of its points, in Plotly's words.
    pub(crate) symbol: &'static str,
    /// The same marker as an SVG path around (14, 6), for the legend.
    pub(crate) svg_marker: &'static str,
}

const COLOURS: [(&str, &str); 8] = [
    ("#0072b2", "#56b4e9"),
    ("#c94f00", "#ff8f4d"),
    ("#00835f", "#2fc79b"),
    ("#b0508a", "#e59cc8"),
    ("#8f6a00", "#e8b33f"),
    ("#4d4d4d", "#cfd3d8"),
    ("#3a7fb5", "#a9d6f5"),
    ("#7a5195", "#c3a6e0"),
];

const CIRCLE: &str = "M10.5 6a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z";
const SQUARE: &str = "M10.8 2.8h6.4v6.4h-6.4z";
const DIAMOND: &str = "M14 1.6l4.4 4.4l-4.4 4.4l-4.4-4.4z";
const TRIANGLE: &str = "M14 1.8l4.2 7.4h-8.4z";
const DOWN: &str = "M14 10.2l4.2-7.4h-8.4z";

/// The look of the configuration at `place`; places beyond the colours repeat them with another
/// marker.
pub(crate) fn look(place: usize) -> Look {
    let (light, dark) = COLOURS[place % COLOURS.len()];
    let shifted = place + place / COLOURS.len();
    let (symbol, svg_marker) = match shifted % 5 {
        0 => ("circle", CIRCLE),
        1 => ("square", SQUARE),
        2 => ("diamond", DIAMOND),
        3 => ("triangle-up", TRIANGLE),
        _ => ("triangle-down", DOWN),
    };
    Look { light, dark, symbol, svg_marker }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG 2.2 defines it.
    fn luminance(colour: &str) -> f64 {
        let channel = |from: usize| {
            let value = f64::from(u8::from_str_radix(&colour[from..from + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (a, b) = (luminance(one), luminance(other));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Background of charts in the style sheet: light, dark.
    const SURFACES: [&str; 2] = ["#ffffff", "#191c20"];

    #[test]
    fn every_config_stands_out_from_its_page() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        assert!(contrast("#f0e442", "#ffffff") < 3.0, "the checker knows a pale colour");
        for place in 0..COLOURS.len() {
            let look = look(place);
            assert!(contrast(look.light, SURFACES[0]) >= 4.0, "{}", look.light);
            assert!(contrast(look.dark, SURFACES[1]) >= 4.0, "{}", look.dark);
        }
    }

    #[test]
    fn forty_configs_look_different() {
        let looks: std::collections::BTreeSet<String> =
            (0..40).map(|place| format!("{:?}", look(place))).collect();
        assert_eq!(looks.len(), 40);
    }
}
