//! Notes that a person adds to the report, in Markdown. HTML in them is shown as text, and nothing
//! is fetched: a picture is its words, and only links to the web and within the page are links.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// Markdown (CommonMark with tables) as HTML that is safe to stand in the page.
pub(crate) fn to_html(markdown: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    let mut page = String::new();
    html::push_html(&mut page, Parser::new_ext(markdown, options).map(harmless));
    page
}

fn harmless(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Image { .. }) => Event::Start(Tag::Emphasis),
        Event::End(TagEnd::Image) => Event::End(TagEnd::Emphasis),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if may_be_followed(&dest_url) { dest_url } else { CowStr::from("#") };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        Event::Start(Tag::Heading { level, id: _, classes: _, attrs: _ }) => {
            Event::Start(Tag::Heading {
                level: below(level),
                id: None,
                classes: vec![],
                attrs: vec![],
            })
        }
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(below(level))),
        other => other,
    }
}

/// A script is no place to go to.
fn may_be_followed(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    ["https://", "http://", "#", "mailto:"].iter().any(|start| address.starts_with(start))
}

/// The page has headings of its own above those of the notes.
fn below(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_set_and_html_is_text() {
        let page = to_html("# Why\n\nIt is **fast**.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n");
        assert!(page.contains("<h3>Why</h3>") && page.contains("<strong>fast</strong>"), "{page}");
        assert!(page.contains("<td>1</td>"), "{page}");
        let page = to_html("<script>alert(1)</script>\n\nso <img src=x onerror=alert(1)> it is");
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
        assert!(page.contains("&lt;script&gt;"), "{page}");
    }

    #[test]
    fn nothing_is_fetched_and_no_link_runs_a_script() {
        let page = to_html(
            "![a chart](http://x/y.png) [a](javascript:alert(1)) [b](https://x) [c](JavaScript:x)",
        );
        assert!(!page.contains("y.png") && !page.to_lowercase().contains("javascript"), "{page}");
        assert!(page.contains("<em>a chart</em>") && page.contains("href=\"https://x\""), "{page}");
    }
}
