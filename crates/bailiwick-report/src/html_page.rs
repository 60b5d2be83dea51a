//! A page of HTML in one file, without a request and without a library: the head, the style, the script and the search that a
//! review, a map of access and a migration share. The files of the page are in `html_page/`: the folder `templates/` of the repository belongs
//! to its example.

mod members;

use bailiwick_analysis::subject_classes::SubjectClass;
use bailiwick_workspace::words::grouped;
use minijinja::{Environment, Value, context};
use sha2::{Digest, Sha256};

pub(super) use self::members::{SearchedList, SearchedNames, named_namespaces};
use super::review::phrase::{Phrase, escaped};

/// The frame of a page, and the parts of it that a template includes.
const PARTS: [(&str, &str); 4] = [
    ("frame.html", include_str!("html_page/frame.html")),
    ("search.html", include_str!("html_page/search.html")),
    ("classes.html", include_str!("html_page/classes.html")),
    ("migration.html", include_str!("html_page/migration.html")),
];

const STYLE: &str = include_str!("html_page/page.css");

/// The search of members.
pub(super) const SCRIPT: &str = include_str!("html_page/page.js");

/// The content of a page.
pub(super) struct HtmlPage<'p> {
    /// A template that extends `frame.html`.
    pub(super) template: &'static str,
    /// The style beside the style of all pages.
    pub(super) own_style: &'static str,
    /// The values of the template.
    pub(super) values: Value,
    /// The lists whose members are searched.
    pub(super) searched: &'p [SearchedList<'p>],
}

impl HtmlPage<'_> {
    /// Returns the page.
    pub(super) fn render(&self) -> String {
        let style = format!("{STYLE}{}", self.own_style);
        let frame = context! {
            members => json_string(&members::block(self.searched)),
            style_hash => hash(&style),
            script_hash => hash(SCRIPT),
            style => Value::from_safe_string(style),
            script => Value::from_safe_string(SCRIPT.to_owned()),
        };
        let values = self.values.clone();
        let mut environment = Environment::new();
        let mut parts = PARTS.into_iter().chain([("page.html", self.template)]);
        let rendered = parts
            .try_for_each(|(name, part)| environment.add_template(name, part))
            .and_then(|()| environment.get_template("page.html"))
            .and_then(|template| template.render(context! { ..frame, ..values }));
        // The templates are a part of the program, and tests render them.
        match rendered {
            Ok(page) => page,
            Err(error) => escaped(&error.to_string()),
        }
    }
}

/// Returns the source of a Content Security Policy for an inline element.
pub(super) fn hash(text: &str) -> Value {
    let digest = data_encoding::BASE64.encode(&Sha256::digest(text.as_bytes()));
    Value::from_safe_string(format!("sha256-{digest}"))
}

/// Returns a text of base64 as JSON. It has no character with a meaning in HTML.
fn json_string(base64: &str) -> Value {
    Value::from_safe_string(format!("\"{}\"", base64.replace('<', "\\u003c")))
}

/// Returns a phrase as HTML.
pub(super) fn html(phrase: &Phrase) -> Value {
    Value::from_safe_string(phrase.html())
}

/// Returns a text of an author without hidden characters.
pub(super) fn escaped_value(text: &str) -> Value {
    Value::from_safe_string(escaped(text))
}

/// Returns a row of the table of classes.
pub(super) fn class_row(class: &SubjectClass) -> Value {
    context! {
        id => class.id,
        template => escaped_value(&class.template),
        count => grouped(class.count),
        sample => html(&Phrase::default().names(class.sample.iter().map(String::as_str), class.sample.len())),
    }
}
