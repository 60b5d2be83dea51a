//! The forms of a review. Each form is a view of one [`ChangeReview`], and starts with the verdict.
//!
//! `phrase` keeps names apart from words, so that each form makes names harmless in its own way; `view` looks up classes and
//! causes; `words` describes the parts of a review, and `results` lists what a program counts. The forms only lay out.

mod annotations;
pub(crate) mod html;
mod junit;
mod markdown;
mod mermaid;
pub(crate) mod phrase;
mod results;
#[cfg(test)]
mod samples;
mod sarif;
mod sections;
pub(crate) mod svg;
pub(crate) mod json {
    //! JSON, the whole value.

    use bailiwick_review::ChangeReview;
    use serde_json::Value;

    use super::ReviewFormOptions;

    /// The most members of a class, unless all are requested.
    pub(crate) const MAXIMUM_MEMBERS: usize = 1_000;

    /// Returns a review as JSON. The `count` of a class counts all members.
    pub(super) fn text(review: &ChangeReview, options: &ReviewFormOptions) -> String {
        let mut value = crate::json::value(review);
        if !options.writes_all_members {
            let classes = value.get_mut("classes").and_then(Value::as_array_mut);
            let members = classes.into_iter().flatten().filter_map(|class| class.get_mut("members")?.as_array_mut());
            members.for_each(|members| members.truncate(MAXIMUM_MEMBERS));
        }
        crate::json::pretty(&value)
    }
}

#[cfg(test)]
mod tests;
mod text;
pub(crate) mod view;
pub(crate) mod words;

use bailiwick_review::ChangeReview;

/// The size of the longest comment of GitHub, in characters.
pub const COMMENT_BUDGET: usize = 65_536;

/// A format in which a review is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ReviewForm {
    /// Plain text.
    Text,
    /// Markdown, for comments and step summaries.
    Markdown,
    /// JSON; `bailiwick schema review` prints its schema.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// GitLab Code Quality.
    Gitlab,
    /// JUnit XML.
    Junit,
    /// Workflow commands of GitHub Actions; the ten worst errors and warnings.
    Github,
    /// One HTML file without requests.
    Html,
}

/// The settings of the forms of a review.
#[derive(Debug, Clone)]
pub struct ReviewFormOptions {
    /// The most bytes of the Markdown form.
    pub budget: usize,
    /// The address below which the files of the reviewed state are shown, such as `https://example.com/blob/COMMIT`.
    pub link_base: Option<String>,
    /// The same address for the earlier state.
    pub earlier_link_base: Option<String>,
    /// The address of the HTML form, for the Markdown form.
    pub report_url: Option<String>,
    /// The command line, for the footers.
    pub command: String,
    /// Whether SARIF has the lost paths and fixed findings.
    pub writes_absent: bool,
    /// Whether JSON has all members of a class.
    pub writes_all_members: bool,
}

impl Default for ReviewFormOptions {
    fn default() -> Self {
        Self {
            budget: COMMENT_BUDGET,
            link_base: None,
            earlier_link_base: None,
            report_url: None,
            command: "bailiwick review".to_owned(),
            writes_absent: false,
            writes_all_members: false,
        }
    }
}

impl ReviewForm {
    /// Whether readers of this format look for the files below the root of the repository.
    pub fn has_paths_of_repository(self) -> bool {
        match self {
            Self::Github | Self::Sarif | Self::Gitlab | Self::Markdown => true,
            Self::Text | Self::Json | Self::Junit | Self::Html => false,
        }
    }

    /// Returns a review in this form.
    pub fn write(self, review: &ChangeReview, options: &ReviewFormOptions) -> String {
        match self {
            Self::Text => text::text(review, options),
            Self::Markdown => markdown::text(review, options),
            Self::Json => json::text(review, options),
            Self::Sarif => sarif::text(review, options),
            Self::Gitlab => annotations::gitlab(review, options),
            Self::Junit => junit::text(review, options),
            Self::Github => annotations::github(review, options),
            Self::Html => html::text(review, options),
        }
    }
}
