//! The references of HTML pages and style sheets.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{HtmlString, StartTag, Token, Tokenizer};
use regex::Regex;

/// The attributes whose file a browser loads without a click.
const LOADED: [(&str, &str); 14] = [
    ("audio", "src"),
    ("embed", "src"),
    ("form", "action"),
    ("iframe", "src"),
    ("image", "href"),
    ("img", "src"),
    ("input", "src"),
    ("link", "href"),
    ("object", "data"),
    ("script", "src"),
    ("source", "src"),
    ("track", "src"),
    ("use", "href"),
    ("video", "src"),
];

/// The anchors and the references of an HTML file.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The values of `id` and of `name` of a link, which fragments lead to.
    pub(super) anchors: BTreeSet<String>,
    pub(super) references: Vec<Reference>,
    /// Whether the element `main` is open.
    is_in_text: bool,
}

/// A reference of a page or a style sheet to another file, as it is written there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) url: String,
    pub(super) used_as: Use,
}

/// The use of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// A link in the text of the page, the element `main`.
    Text,
    /// A link outside the text, such as an arrow to the next page.
    Navigation,
    /// A file that the browser loads.
    Loaded,
}

impl Page {
    /// Reads a page. A browser reads every text, so there are no errors.
    pub(super) fn read(text: &str) -> Self {
        let mut page = Self::default();
        let mut is_style = false;
        let mut emitter = DefaultEmitter::default();
        // The text of scripts and styles has no elements.
        emitter.naively_switch_states(true);
        for Ok(token) in Tokenizer::new_with_emitter(text, emitter) {
            match token {
                Token::StartTag(tag) => {
                    is_style = *tag.name == b"style"[..];
                    page.is_in_text |= *tag.name == b"main"[..];
                    page.add_element(&tag);
                }
                Token::EndTag(tag) => {
                    is_style = false;
                    page.is_in_text &= *tag.name != b"main"[..];
                }
                Token::String(style) if is_style => page.references.extend(style_references(&shown(&style))),
                _ => {}
            }
        }
        page
    }

    fn add_element(&mut self, tag: &StartTag<()>) {
        let element = shown(&tag.name);
        for (name, value) in &tag.attributes {
            let value = shown(value);
            let value = value.trim();
            match (element.as_str(), shown(name).as_str()) {
                (_, "id") | ("a", "name") => _ = self.anchors.insert(value.to_owned()),
                ("a" | "area", "href") if self.is_in_text => self.add(value, Use::Text),
                ("a" | "area", "href") => self.add(value, Use::Navigation),
                (_, "srcset") => {
                    let urls = value.split(',').filter_map(|image| image.split_whitespace().next());
                    urls.for_each(|url| self.add(url, Use::Loaded));
                }
                (_, "poster") => self.add(value, Use::Loaded),
                (_, "style") => self.references.extend(style_references(value)),
                (element, name) if LOADED.contains(&(element, name)) => self.add(value, Use::Loaded),
                _ => {}
            }
        }
    }

    fn add(&mut self, url: &str, used_as: Use) {
        self.references.push(Reference { url: url.to_owned(), used_as });
    }
}

/// The files of a style sheet: `url(...)`, and the texts of `@import`.
#[expect(clippy::expect_used, reason = "a constant pattern")]
static URL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"url\(\s*['"]?([^'")]+?)['"]?\s*\)|@import\s+['"]([^'"]+)"#).expect("a pattern"));

/// Returns the files that a style sheet loads.
pub(super) fn style_references(style: &str) -> Vec<Reference> {
    let urls = URL.captures_iter(style).filter_map(|found| found.get(1).or_else(|| found.get(2)));
    urls.map(|url| Reference { url: url.as_str().to_owned(), used_as: Use::Loaded }).collect()
}

fn shown(text: &HtmlString) -> String {
    String::from_utf8_lossy(text).into_owned()
}
