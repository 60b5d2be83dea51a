//! The grammars of names, keys and values, as pure functions over bytes.
//!
//! Hand-written loops instead of regular expressions: a large run checks millions of strings. Every function returns
//! all its reasons, because the API server counts them one by one (an empty label key is two errors). Lengths are
//! bytes. `tests/validation/` has rows for every function, computed by Kubernetes.

use crate::absent;

/// Why a string was refused: one to three short reasons, each completing "the name ...".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reasons {
    list: [Option<&'static str>; 3],
}

impl Reasons {
    /// Returns the reasons in order.
    pub fn iter(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.list.iter().flatten().copied()
    }

    fn push(&mut self, reason: &'static str) {
        if let Some(free) = self.list.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(reason);
        }
    }

    fn verdict(self) -> Result<(), Reasons> {
        if self.list.first() == Some(&None) { Ok(()) } else { Err(self) }
    }

    fn one(reason: &'static str) -> Result<(), Reasons> {
        Err(Reasons { list: [Some(reason), None, None] })
    }
}

/// A check of this module.
pub type Grammar = fn(&str) -> Result<(), Reasons>;

/// Most bytes of a DNS label, and of the name part of a label key.
pub const LABEL_LENGTH: usize = 63;
/// Most bytes of a DNS subdomain.
pub const SUBDOMAIN_LENGTH: usize = 253;

const DNS_LABEL: &str = "takes only lower case letters, digits and `-`, and begins and ends with a letter or digit";
const DNS_1035_LABEL: &str =
    "takes only lower case letters, digits and `-`, begins with a letter and ends with a letter or digit";
const DNS_SUBDOMAIN: &str = "takes only lower case letters, digits, `-` and `.`, and each part between dots begins and ends with a letter or digit";
const QUALIFIED_PART: &str = "takes only letters, digits, `-`, `_` and `.`, and begins and ends with a letter or digit";
const OVER_63: &str = "is longer than 63 bytes";
const OVER_253: &str = "is longer than 253 bytes";

/// Checks a DNS-1123 label: the names of namespaces.
///
/// # Errors
/// The reasons, as with every function here.
pub fn dns_label(text: &str) -> Result<(), Reasons> {
    let mut reasons = Reasons::default();
    if text.len() > LABEL_LENGTH {
        reasons.push(OVER_63);
    }
    if !is_edged(text.as_bytes(), is_lower_alphanumeric, |byte| byte == b'-') {
        reasons.push(DNS_LABEL);
    }
    reasons.verdict()
}

/// Checks a DNS-1035 label: a DNS label with a letter at the beginning.
///
/// # Errors
/// The reasons.
pub fn dns_1035_label(text: &str) -> Result<(), Reasons> {
    let mut reasons = Reasons::default();
    if text.len() > LABEL_LENGTH {
        reasons.push(OVER_63);
    }
    let begins_with_letter = text.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
    if !begins_with_letter || !is_edged(text.as_bytes(), is_lower_alphanumeric, |byte| byte == b'-') {
        reasons.push(DNS_1035_LABEL);
    }
    reasons.verdict()
}

/// Checks a DNS-1123 subdomain: the names of most kinds. Only the whole is limited, not its parts.
///
/// # Errors
/// The reasons.
pub fn dns_subdomain(text: &str) -> Result<(), Reasons> {
    let mut reasons = Reasons::default();
    if text.len() > SUBDOMAIN_LENGTH {
        reasons.push(OVER_253);
    }
    if !is_subdomain(text) {
        reasons.push(DNS_SUBDOMAIN);
    }
    reasons.verdict()
}

/// Checks the prefix of a generated DNS label.
///
/// # Errors
/// The reasons.
pub fn dns_label_prefix(text: &str) -> Result<(), Reasons> {
    with_masked_dash(text, dns_label)
}

/// Checks the prefix of a generated DNS-1035 label.
///
/// # Errors
/// The reasons.
pub fn dns_1035_label_prefix(text: &str) -> Result<(), Reasons> {
    with_masked_dash(text, dns_1035_label)
}

/// Checks the prefix of a generated DNS subdomain.
///
/// # Errors
/// The reasons.
pub fn dns_subdomain_prefix(text: &str) -> Result<(), Reasons> {
    with_masked_dash(text, dns_subdomain)
}

/// Checks a path segment: the names of RBAC kinds, and of all objects without a stricter grammar.
///
/// # Errors
/// The reasons, one for each forbidden character.
pub fn path_segment(text: &str) -> Result<(), Reasons> {
    match text {
        "." => Reasons::one("may not be `.`"),
        ".." => Reasons::one("may not be `..`"),
        _ => path_segment_prefix(text),
    }
}

/// Returns the problem of the name of a namespace, as a sentence; none for a valid name.
pub fn namespace_problem(name: &str) -> Option<String> {
    let reasons = dns_label(name).err()?;
    let reasons: Vec<&str> = reasons.iter().collect();
    Some(format!("`{name}` is not the name of a namespace: {}", reasons.join(", ")))
}

/// Checks the name of a Group of OpenShift (`pkg/apivalidation/uservalidation.go` of openshift/apiserver-library-go).
///
/// # Errors
/// The reasons.
pub fn openshift_group(text: &str) -> Result<(), Reasons> {
    path_segment(text)?;
    match text {
        "~" => Reasons::one("may not be `~`"),
        _ if text.contains(':') => Reasons::one("may not contain `:`"),
        _ => Ok(()),
    }
}

/// Checks the name of a User of OpenShift, as [`openshift_group`] checks the name of a Group.
///
/// # Errors
/// The reasons.
pub fn openshift_user(text: &str) -> Result<(), Reasons> {
    path_segment(text)?;
    match text {
        "~" => Reasons::one("may not be `~`"),
        _ if text.contains(':') && !text.starts_with("b64:") => {
            Reasons::one("may not contain `:` without the prefix `b64:`")
        }
        _ => Ok(()),
    }
}

/// Checks the prefix of a generated path segment.
///
/// # Errors
/// The reasons, one for each forbidden character.
pub fn path_segment_prefix(text: &str) -> Result<(), Reasons> {
    let mut reasons = Reasons::default();
    if text.as_bytes().contains(&b'/') {
        reasons.push("may not contain `/`");
    }
    if text.as_bytes().contains(&b'%') {
        reasons.push("may not contain `%`");
    }
    reasons.verdict()
}

/// Checks a label key, a finalizer, a resource name of a quota: an optional DNS subdomain and `/`, then a name.
///
/// # Errors
/// The reasons.
pub fn label_key(text: &str) -> Result<(), Reasons> {
    let mut reasons = Reasons::default();
    let mut name = text;
    if let Some((prefix, rest)) = text.split_once('/') {
        name = rest;
        if rest.contains('/') {
            return Reasons::one("takes at most one `/`");
        }
        if prefix.is_empty() {
            reasons.push("has nothing before its `/`");
        } else {
            if prefix.len() > SUBDOMAIN_LENGTH {
                reasons.push("has a prefix that is longer than 253 bytes");
            }
            if !is_subdomain(prefix) {
                reasons.push("has a prefix that is not a lower case DNS name");
            }
        }
    }
    if name.is_empty() {
        reasons.push("has an empty name part");
    } else if name.len() > LABEL_LENGTH {
        reasons.push("has a name part that is longer than 63 bytes");
    }
    if !is_qualified_part(name) {
        reasons.push(QUALIFIED_PART);
    }
    reasons.verdict()
}

/// Checks an annotation key: a label key once it is in lower case.
///
/// # Errors
/// The reasons.
pub fn annotation_key(text: &str) -> Result<(), Reasons> {
    // The name part takes both cases, so only a prefix can profit, and most keys need no copy.
    if text.bytes().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii()) {
        // Go has one lower case letter for each letter: `i` for `İ`.
        let lower: String = text.chars().filter_map(|letter| letter.to_lowercase().next()).collect();
        label_key(&lower)
    } else {
        label_key(text)
    }
}

/// Checks a label value: empty, or like the name part of a label key.
///
/// # Errors
/// The reasons.
pub fn label_value(text: &str) -> Result<(), Reasons> {
    let mut reasons = Reasons::default();
    if text.len() > LABEL_LENGTH {
        reasons.push(OVER_63);
    }
    if !text.is_empty() && !is_qualified_part(text) {
        reasons.push(QUALIFIED_PART);
    }
    reasons.verdict()
}

/// Checks the name of a port of a container.
///
/// # Errors
/// The reasons; the first three.
pub fn port_name(text: &str) -> Result<(), Reasons> {
    let mut reasons = Reasons::default();
    let bytes = text.as_bytes();
    if bytes.len() > 15 {
        reasons.push("is longer than 15 bytes");
    }
    if !bytes.iter().all(|&byte| is_lower_alphanumeric(byte) || byte == b'-') || bytes.is_empty() {
        reasons.push("takes only lower case letters, digits and `-`");
    }
    if !bytes.iter().any(u8::is_ascii_lowercase) {
        reasons.push("needs at least one letter");
    }
    if text.contains("--") {
        reasons.push("may not contain `--`");
    }
    if bytes.first() == Some(&b'-') || bytes.last() == Some(&b'-') {
        reasons.push("may not begin or end with `-`");
    }
    reasons.verdict()
}

/// Checks a Pod Security level.
///
/// # Errors
/// The reason.
pub fn psa_level(text: &str) -> Result<(), Reasons> {
    match text {
        "privileged" | "baseline" | "restricted" => Ok(()),
        _ => Reasons::one("is one of `privileged`, `baseline`, `restricted`"),
    }
}

/// Checks the version of a Pod Security level.
///
/// # Errors
/// The reason.
pub fn psa_version(text: &str) -> Result<(), Reasons> {
    let minor = absent::text(text.strip_prefix("v1."));
    let canonical = minor == "0" || !minor.starts_with('0');
    let number = minor.bytes().all(|byte| byte.is_ascii_digit()) && minor.parse::<i64>().is_ok();
    if text == "latest" || (canonical && number) {
        Ok(())
    } else {
        Reasons::one("is `latest` or a version such as `v1.30`")
    }
}

/// Checks a sysctl, or the beginning of one followed by `*`, as the lists of PSP and SCC take it.
///
/// # Errors
/// The reasons.
pub fn sysctl_pattern(text: &str) -> Result<(), Reasons> {
    let mut reasons = Reasons::default();
    if text.len() > SUBDOMAIN_LENGTH {
        reasons.push(OVER_253);
    }
    let is_inner = |byte| byte == b'-' || byte == b'_';
    let (parents, last) = text.rsplit_once('.').map_or((None, text), |(parents, last)| (Some(parents), last));
    let parents_fit = parents.is_none_or(|parents| {
        parents.split('.').all(|part| is_edged(part.as_bytes(), is_lower_alphanumeric, is_inner))
    });
    // A star takes the place of the last character, and so may follow a dash.
    let last_fits = match last.strip_suffix('*') {
        Some("") => true,
        Some(stem) => {
            stem.bytes().next().is_some_and(is_lower_alphanumeric)
                && stem.bytes().all(|byte| is_lower_alphanumeric(byte) || is_inner(byte))
        }
        None => is_edged(last.as_bytes(), is_lower_alphanumeric, is_inner),
    };
    if !parents_fit || !last_fits {
        reasons.push("takes lower case words joined by `.`, the last of which may end in `*`");
    }
    reasons.verdict()
}

/// Returns the user name of a service account, `system:serviceaccount:NAMESPACE:NAME`, split into namespace and name.
pub fn service_account_user(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (dns_label(namespace).is_ok() && dns_subdomain(name).is_ok()).then_some((namespace, name))
}

/// Checks a prefix as the API server does: when it ends in a dash, its last two characters count as one `a`.
fn with_masked_dash(text: &str, grammar: Grammar) -> Result<(), Reasons> {
    if let [kept @ .., _, b'-'] = text.as_bytes() {
        // The cut may be inside a character; no grammar accepts the rest of it.
        return grammar(&(String::from_utf8_lossy(kept).into_owned() + "a"));
    }
    grammar(text)
}

fn is_lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether a text is not empty, with a first and last byte in `edge` and the other bytes in `edge` or `inner`.
fn is_edged(bytes: &[u8], edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return false };
    edge(first) && edge(last) && bytes.iter().all(|&byte| edge(byte) || inner(byte))
}

fn is_subdomain(text: &str) -> bool {
    let mut previous = b'.';
    for byte in text.bytes() {
        let at_edge = matches!(previous, b'.');
        let fits = match byte {
            b'a'..=b'z' | b'0'..=b'9' => true,
            b'-' => !at_edge,
            b'.' => !at_edge && previous != b'-',
            _ => false,
        };
        if !fits {
            return false;
        }
        previous = byte;
    }
    previous != b'.' && previous != b'-'
}

fn is_qualified_part(text: &str) -> bool {
    is_edged(text.as_bytes(), |byte| byte.is_ascii_alphanumeric(), |byte| matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(verdict: Result<(), Reasons>) -> usize {
        verdict.err().map_or(0, |reasons| reasons.iter().count())
    }

    #[test]
    fn counts_reasons_as_the_server_does() {
        assert_eq!(reasons(label_key("x/")), 2);
        assert_eq!(reasons(label_key("/a")), 1);
        assert_eq!(reasons(label_key("a/b/c")), 1);
        assert_eq!(reasons(label_key("")), 2);
        assert_eq!(reasons(path_segment("a/b%")), 2);
        assert_eq!(reasons(dns_label(&"A".repeat(64))), 2);
    }

    #[test]
    fn masks_the_last_two_bytes_of_a_generated_name() {
        assert_eq!(dns_label_prefix("builder-"), Ok(()));
        assert_eq!(dns_label_prefix(" -"), Ok(()), "the slip of the server: the space is masked as well");
        assert!(dns_label_prefix("-").is_err());
    }

    #[test]
    fn splits_service_account_users() {
        assert_eq!(service_account_user("system:serviceaccount:team-a:ci"), Some(("team-a", "ci")));
        assert_eq!(service_account_user("system:serviceaccount:team.a:ci"), None);
        assert_eq!(service_account_user("system:serviceaccount:team-a:ci:x"), None);
    }
}
