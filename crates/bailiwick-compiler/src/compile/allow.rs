//! `metadata.allow`: the warnings that a policy accepts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bailiwick_codes as codes;
use bailiwick_policy::model::{Date, RequiredField};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Code, Diagnostic, Origin, Sink, nearest};

/// The fields of an entry of `metadata.allow` that is not a code alone.
const FIELDS: [&str; 3] = ["code", "reason", "expires"];

/// An entry of `metadata.allow`.
#[derive(Debug)]
pub struct AllowEntry {
    /// The code of the accepted warnings.
    pub code: Code,
    /// The location of the entry.
    pub origin: Origin,
    /// The last day of the entry; none if it has no end.
    pub until: Option<Date>,
    /// Whether the entry has a reason.
    has_reason: bool,
    /// Whether a warning was accepted in this run.
    is_used: AtomicBool,
}

impl AllowEntry {
    /// Whether the last day of the entry is over.
    pub fn is_over(&self, today: Date) -> bool {
        self.until.is_some_and(|until| until < today)
    }

    /// Whether a warning was accepted in this run.
    pub fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    /// Returns the warning about an entry that is over.
    pub(super) fn expired(&self, until: Date) -> Diagnostic {
        let message = format!("the acceptance of `{}` expired on {until}", self.code.id());
        Diagnostic::warning(codes::ALLOW_EXPIRED, message)
            .at(self.origin)
            .help("correct the cause and remove the entry, or set a later day")
    }

    /// Returns the fields of the entry that a requirement can name.
    pub(super) fn fields(&self) -> Vec<RequiredField> {
        let reason = self.has_reason.then_some(RequiredField::Reason);
        reason.into_iter().chain(self.until.map(|_| RequiredField::Expires)).collect()
    }

    /// Returns the entry in words.
    pub(super) fn words(&self) -> String {
        format!("the acceptance of `{}`", self.code.id())
    }

    /// Returns the warning about an entry that accepts nothing.
    pub fn unused(&self) -> Diagnostic {
        Diagnostic::warning(codes::UNUSED_ALLOW, format!("the policy has no warning `{}`", self.code.id()))
            .at(self.origin)
            .help("remove the entry: it would hide a later warning")
    }
}

/// A document with accepted warnings.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The code of the warnings.
    pub code: Code,
    /// The location of the document.
    pub document: Origin,
    /// The entries that accept the warnings: the entry of the policy, or for a document of another file, the entry of each
    /// policy with the document.
    pub entries: Vec<Arc<AllowEntry>>,
}

impl Accepted {
    /// Whether the warnings are accepted on a day.
    pub(super) fn holds(&self, today: Option<Date>) -> bool {
        !self.entries.iter().any(|entry| today.is_some_and(|today| entry.is_over(today)))
    }

    /// Whether a warning of a code is within the document.
    pub(super) fn covers(&self, code: Code, place: Origin) -> bool {
        self.code == code && self.document.file == place.file && self.document.span.contains(place.span)
    }

    /// Marks the entries as used.
    pub(super) fn mark(&self) {
        self.entries.iter().for_each(|entry| entry.is_used.store(true, Ordering::Relaxed));
    }
}

/// Whether an entry is a code, or a map of the fields with texts.
pub(super) fn is_entry(entry: NodeRef<'_>) -> bool {
    let is_field = |key: NodeRef<'_>| key.as_str().is_some_and(|key| FIELDS.contains(&key));
    let has_fields = || entry.entries().all(|(key, value)| is_field(key) && value.as_str().is_some());
    entry.as_str().is_some() || (entry.is_map() && entry.get("code").is_some() && has_fields())
}

/// Returns the entries of `metadata.allow`; reports unknown codes and invalid fields.
pub(super) fn entries(allow: NodeRef<'_>, sink: &mut Sink) -> Vec<Arc<AllowEntry>> {
    allow.items().filter_map(|entry| read_entry(entry, sink)).map(Arc::new).collect()
}

fn read_entry(entry: NodeRef<'_>, sink: &mut Sink) -> Option<AllowEntry> {
    let written = entry.get("code").map_or(entry, |code| code);
    let text = written.as_str()?;
    let mut until = None;
    if let Some(day) = entry.get("expires") {
        match day.as_str()?.parse::<Date>() {
            Ok(date) => until = Some(date),
            Err(error) => sink.push(
                Diagnostic::error(codes::INVALID_VALUE, format!("`{}` is not a date", day.as_str()?))
                    .at(day.origin())
                    .help(format!("{error}")),
            ),
        }
    }
    if let Some(reason) =
        entry.get("reason").filter(|reason| reason.as_str().is_some_and(|text| text.trim().is_empty()))
    {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, "this text is empty")
                .at(reason.origin())
                .help("write a text, or remove the field"),
        );
    }
    let Some(code) = codes::find(text) else {
        let near = nearest(text, codes::all().iter().map(|code| code.id()));
        sink.push(
            Diagnostic::error(codes::UNKNOWN_VALUE, format!("there is no diagnostic `{text}`"))
                .at(written.origin())
                .help_maybe(near.map(|near| format!("did you mean `{near}`?"))),
        );
        return None;
    };
    let has_reason = entry.get("reason").is_some();
    Some(AllowEntry { code, origin: written.origin(), until, has_reason, is_used: AtomicBool::new(false) })
}
