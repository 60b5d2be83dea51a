//! The risk rules that `lint` applies.

use clap::{Args, ValueEnum};

use crate::access::risk::{self, Finding, Options, Rule, Severity};
use crate::diag::{Code, Diagnostic, nearest};

/// Options that choose rules.
#[derive(Debug, Args)]
pub(super) struct SelectionArguments {
    /// Only these rules, at any severity: ids of the catalogue (`E001`), whole families (`E`), or names of diagnostics.
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    select: Vec<String>,
    /// Without these rules.
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Only findings of at least this severity. Default: high, or all findings that --select chooses.
    #[arg(long, value_name = "SEVERITY")]
    severity: Option<Least>,
}

/// The severities as words of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Least {
    Critical,
    High,
    Medium,
    Low,
    Info,
}

/// The rules that were chosen.
#[derive(Debug)]
pub(super) struct Selection {
    rules: Vec<&'static Rule>,
    least: Severity,
    /// True when nothing was chosen by name.
    is_default: bool,
}

impl SelectionArguments {
    /// Finds the rules.
    ///
    /// # Errors
    /// When a name stands for none.
    pub(super) fn read(&self) -> Result<Selection, Box<Diagnostic>> {
        for name in self.select.iter().chain(&self.ignore) {
            if !risk::all().any(|rule| is_named(rule, name)) {
                return Err(Box::new(unknown(name)));
            }
        }
        let among = |names: &[String], rule: &Rule| names.iter().any(|name| is_named(rule, name));
        let rules = risk::all()
            .filter(|rule| self.select.is_empty() || among(&self.select, rule))
            .filter(|rule| !among(&self.ignore, rule))
            .collect();
        let least = match self.severity {
            Some(Least::Critical) => Severity::Critical,
            Some(Least::High) => Severity::High,
            Some(Least::Medium) => Severity::Medium,
            Some(Least::Low) => Severity::Low,
            Some(Least::Info) => Severity::Info,
            None if self.select.is_empty() => Severity::High,
            None => Severity::Info,
        };
        Ok(Selection { rules, least, is_default: self.select.is_empty() && self.severity.is_none() })
    }
}

impl Selection {
    /// The rules to apply to manifests.
    pub(super) fn options(&self) -> Options {
        Options { rules: self.rules.clone(), apart: false }
    }

    /// The rules to apply to the compiled output of a workspace: without those that the compiler has applied where the
    /// policies are written. Each policy accepts findings for itself, so that those of different policies are kept apart.
    pub(super) fn options_of_workspace(&self) -> Options {
        let rules = self.rules.iter().copied().filter(|rule| !rule.is_applied_while_compiling());
        Options { rules: rules.collect(), apart: true }
    }

    /// True for a finding that is bad enough. A role that is not there is always told: without it no answer is sure.
    pub(super) fn shows(&self, finding: &Finding) -> bool {
        finding.severity >= self.least || (self.is_default && finding.rule.code == Code::DanglingRole)
    }
}

fn is_named(rule: &Rule, name: &str) -> bool {
    let is_family = |name: &str| name.len() == 1 && rule.id.starts_with(name);
    risk::of_id(&name.to_ascii_uppercase()).is_some_and(|named| named.id == rule.id)
        || rule.code.id() == name
        || is_family(&name.to_ascii_uppercase())
}

fn unknown(name: &str) -> Diagnostic {
    let names = risk::all().flat_map(|rule| [rule.id, rule.code.id()]);
    let help = nearest(name, names).map_or_else(
        || "`bailiwick explain` lists the diagnostics; a rule is one of them, or an id such as `E001`".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    Diagnostic::error(Code::UnknownRule, format!("there is no rule `{name}`")).help(help)
}
