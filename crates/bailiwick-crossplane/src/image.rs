//! References to images: registry, repository and tag, as Crossplane's library reads them
//! (`google/go-containerregistry`, `pkg/name`).

/// A parsed image reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The registry; empty for a reference without one.
    pub registry: String,
    /// The repository without the registry.
    pub repository: String,
    /// The tag, if any.
    pub tag: Option<String>,
}

/// The registry behind `docker.io`.
const DOCKER: &str = "index.docker.io";

/// How a release reads references.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'r> {
    /// The registry for a reference without one.
    pub default_registry: &'r str,
    /// True when `name:` is one without a tag, and no mistake.
    pub takes_empty_tags: bool,
}

impl Reader<'_> {
    /// Crossplane v1, with Docker's registry as the default of `--registry` (its library is of 0.16).
    pub const V1: Self = Self { default_registry: DOCKER, takes_empty_tags: true };
    /// Crossplane v2, without a default registry (its library is of 0.21).
    pub const V2: Self = Self { default_registry: "", takes_empty_tags: false };
}

impl Image {
    /// Reads a reference; none for an invalid one.
    pub fn parse(text: &str, reader: Reader<'_>) -> Option<Self> {
        match text.split('@').collect::<Vec<_>>().as_slice() {
            [_] => Self::tagged(text, reader),
            [base, digest] => {
                let hex = digest.strip_prefix("sha256:")?;
                let is_digest = hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                is_digest.then_some(())?;
                Self::tagged(base, reader)
            }
            _ => None,
        }
    }

    fn tagged(text: &str, reader: Reader<'_>) -> Option<Self> {
        let (base, tag) = match text.rsplit_once(':') {
            // A colon before a slash belongs to a port.
            Some((base, tag)) if !tag.contains('/') => (base, Some(tag)),
            _ => (text, None),
        };
        let letters = |tag: &str| tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        let fits = |tag: &str| if tag.is_empty() { reader.takes_empty_tags } else { tag.len() <= 128 && letters(tag) };
        tag.is_none_or(fits).then_some(())?;
        let tag = tag.filter(|tag| !tag.is_empty()).map(str::to_owned);
        Some(Self { tag, ..Self::untagged(base, reader)? })
    }

    fn untagged(text: &str, reader: Reader<'_>) -> Option<Self> {
        let (registry, repository) = match text.split_once('/') {
            Some((first, rest)) if first.contains(['.', ':']) => (first, rest),
            _ => ("", text),
        };
        let is_letter = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'/');
        let fits = (2..=255).contains(&repository.len()) && repository.bytes().all(is_letter);
        (fits && is_host(registry)).then_some(())?;
        let registry = if registry.is_empty() { reader.default_registry } else { registry };
        let registry = if registry == "docker.io" { DOCKER } else { registry };
        Some(Self { registry: registry.to_owned(), repository: repository.to_owned(), tag: None })
    }

    /// Returns the first part of the repository's path: the organisation. Docker's registry has its own images under
    /// `library`.
    fn organisation(&self) -> &str {
        match self.repository.split_once('/') {
            Some((first, _)) => first,
            None if self.registry == DOCKER => "library",
            None => &self.repository,
        }
    }
}

/// Whether this is a valid host for Go's `net/url`: a superset of the names of registries, without a further check.
fn is_host(text: &str) -> bool {
    let is_letter = |letter: char| {
        !letter.is_ascii() || letter.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:[]<>\"".contains(letter)
    };
    let port = match text.strip_prefix('[') {
        Some(inside) => match inside.rsplit_once(']') {
            Some((_, port)) => port,
            None => return false,
        },
        None => text.rfind(':').map_or("", |colon| text.split_at(colon).1),
    };
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    is_port && text.chars().all(is_letter)
}

/// Whether two packages come from the same organisation of the same registry. An unreadable reference has no
/// organisation (`OrgDiffer` of `internal/controller/rbac/provider/roles`).
pub fn same_organisation(one: &str, other: &str, reader: Reader<'_>) -> bool {
    match (Image::parse(one, reader), Image::parse(other, reader)) {
        (Some(one), Some(other)) => one.registry == other.registry && one.organisation() == other.organisation(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_have_three_parts() {
        let parts = |text: &str| {
            Image::parse(text, Reader::V2)
                .map(|image| format!("{}|{}|{:?}", image.registry, image.repository, image.tag))
        };
        assert_eq!(parts("crossplane/stack-gcp:v0.2.0").as_deref(), Some("|crossplane/stack-gcp|Some(\"v0.2.0\")"));
        assert_eq!(parts("localhost:5000/a/b").as_deref(), Some("localhost:5000|a/b|None"));
        assert_eq!(parts("localhost/a/b").as_deref(), Some("|localhost/a/b|None"));
        assert_eq!(parts("docker.io/ab").as_deref(), Some("index.docker.io|ab|None"));
        for wrong in ["::bad", "a", "Upper/case", "ab:", "a/b@sha256:12", "x.io:p/ab"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}
