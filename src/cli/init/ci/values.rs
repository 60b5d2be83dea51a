//! The values of the options of `init --ci`. A value is written into scripts, and so each has a small set of characters.

use std::fmt;
use std::str::FromStr;

use crate::cli::form_file::Refused;
use crate::cli::review::FailOn;

/// A value that the files cannot contain.
#[derive(Debug, thiserror::Error)]
pub(super) enum ValueError {
    #[error("give an address that begins with `https://`, without `@`, quotes, `$` and blanks")]
    Url,
    #[error("give 64 hexadecimal digits")]
    Sha256,
    #[error("give the name of an image with its digest, such as `registry.example.com/bailiwick@sha256:...`")]
    Image,
    #[error("{0}")]
    FailOn(#[from] Refused),
    #[error("write letters, digits and `:-._/`")]
    FailOnLetters,
}

/// Reads an address that can stand between quotes.
pub(super) fn url(text: &str) -> Result<String, ValueError> {
    let is_plain = |letter: char| letter.is_ascii_graphic() && !matches!(letter, '"' | '\\' | '@' | '$' | '`');
    match text.starts_with("https://") && text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err(ValueError::Url),
    }
}

/// Reads a SHA-256.
pub(super) fn sha256(text: &str) -> Result<String, ValueError> {
    match text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        true => Ok(text.to_ascii_lowercase()),
        false => Err(ValueError::Sha256),
    }
}

/// Reads a property of a review that can stand between quotes of a shell.
pub(super) fn fail_on(text: &str) -> Result<String, ValueError> {
    text.parse::<FailOn>()?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, ':' | '-' | '.' | '_' | '/');
    match text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err(ValueError::FailOnLetters),
    }
}

/// An image with its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PinnedImage(String);

impl fmt::Display for PinnedImage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for PinnedImage {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (name, digest) = text.split_once("@sha256:").ok_or(ValueError::Image)?;
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '/' | ':' | '-' | '_');
        let is_name = name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.chars().all(is_plain);
        match is_name {
            true => Ok(Self(format!("{name}@sha256:{}", sha256(digest).map_err(|_| ValueError::Image)?))),
            false => Err(ValueError::Image),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_ends_a_quote() {
        let sum = "0".repeat(64);
        assert!(url("https://example.org/b-1.0.tar.gz?x=1&y=%20").is_ok());
        for wrong in
            ["http://example.org", "https://a\"b", "https://a b", "https://a@b", "https://${{x}}", "https://`x`"]
        {
            assert!(url(wrong).is_err(), "{wrong}");
        }
        assert!(format!("registry.example.com:5000/a/b:1@sha256:{sum}").parse::<PinnedImage>().is_ok());
        for name in ["", "-x", "a b", "a\n", "a@b", "a$b", "a'b"] {
            assert!(format!("{name}@sha256:{sum}").parse::<PinnedImage>().is_err(), "{name}");
        }
        assert!("a:latest".parse::<PinnedImage>().is_err());
        assert!(format!("a@sha256:{sum}0").parse::<PinnedImage>().is_err());
        assert!(fail_on("becomes:cluster-admin").is_ok() && fail_on("high").is_ok());
        for wrong in [
            "severe",
            "becomes:a'b",
            "becomes:a b",
            "becomes:$x",
            "becomes:secrets:a'b",
            "becomes:nodez",
            "verdict:within-limit",
        ] {
            assert!(fail_on(wrong).is_err(), "{wrong}");
        }
    }
}
