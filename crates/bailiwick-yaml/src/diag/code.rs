//! The kinds of problems of diagnostics.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Serialize, Serializer};

use super::severity::DefaultSeverity;

/// The kind of problem of a diagnostic. A code names the bad pattern.
///
/// A crate declares its codes with `declare_codes!`, beside their Markdown pages. Two codes with the same id are the
/// same code.
#[derive(Clone, Copy)]
pub struct Code(&'static CodeInfo);

/// The declaration of a [`Code`].
#[derive(Debug)]
pub struct CodeInfo {
    /// The name on the command line, in reports and in `metadata.allow`: lower case with hyphens.
    pub id: &'static str,
    /// The default severities of diagnostics of the code. Several mean a severity that depends on the problem.
    pub severities: &'static [DefaultSeverity],
    /// A line that names the problem: lower case, no full stop.
    pub title: &'static str,
    /// The reason why the problem matters and the remedy, as paragraphs of Markdown.
    pub page: &'static str,
}

impl Code {
    /// Returns the code of a declaration.
    pub const fn new(info: &'static CodeInfo) -> Self {
        Self(info)
    }

    /// Returns the name on the command line and in reports.
    pub const fn id(self) -> &'static str {
        self.0.id
    }

    /// Returns the default severities of diagnostics of the code.
    pub const fn severities(self) -> &'static [DefaultSeverity] {
        self.0.severities
    }

    /// Returns the line that names the problem.
    pub const fn title(self) -> &'static str {
        self.0.title
    }

    /// Returns the page of the manual, as paragraphs of Markdown.
    pub fn page(self) -> &'static str {
        self.0.page.trim_end()
    }

    /// Whether a diagnostic of this code can have the severity by default.
    pub fn has(self, severity: DefaultSeverity) -> bool {
        self.severities().contains(&severity)
    }

    /// Whether a diagnostic of this code can be a warning.
    pub fn is_warning(self) -> bool {
        self.severities().iter().any(|severity| !matches!(severity, DefaultSeverity::Error | DefaultSeverity::Note))
    }

    /// Whether the code belongs to a risk rule of `lint`.
    pub fn is_finding(self) -> bool {
        self.has(DefaultSeverity::Finding)
    }

    /// Whether `check` fails for every warning of this code.
    pub fn always_fails_check(self) -> bool {
        self.severities() == [DefaultSeverity::FailsCheck]
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.id())
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0) || self.id() == other.id()
    }
}

impl Eq for Code {}

impl PartialOrd for Code {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Code {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id().cmp(other.id())
    }
}

impl Hash for Code {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl Serialize for Code {
    /// Writes the id. A code is read back with the list of codes of the program, see
    /// [`Diagnostic::resolve`](super::Diagnostic::resolve).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// Declares the codes of a module `codes` as constants, and `CODES`, the list of all of them.
///
/// A declaration is `NAME: "id", [SEVERITY, ..], "title";` with a variant of
/// [`DefaultSeverity`](crate::diag::DefaultSeverity) as its severity. The page of a code is a Markdown file
/// with its id in the folder `codes` next to the module.
#[macro_export]
macro_rules! declare_codes {
    ($($name:ident: $id:literal, [$($severity:ident),+], $title:literal;)*) => {
        $(
            #[doc = concat!("`", $id, "`: ", $title, ".")]
            pub const $name: $crate::diag::Code = $crate::diag::Code::new(&$crate::diag::CodeInfo {
                id: $id,
                severities: &[$($crate::diag::DefaultSeverity::$severity),+],
                title: $title,
                page: include_str!(concat!("codes/", $id, ".md")),
            });
        )*

        /// All codes declared by this module.
        pub const CODES: &[$crate::diag::Code] = &[$($name),*];
    };
}
