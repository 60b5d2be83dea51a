//! The findings that `lint` reports: risk rules, and every other diagnostic by its code.

use std::collections::BTreeSet;

use bailiwick_access::risk::{self, Finding, RiskOptions, RiskRule, RiskSeverity};
use bailiwick_codes as codes;
use bailiwick_workspace::Error;
use bailiwick_yaml::diag::{self, Code, Diagnostic, nearest};

/// The findings that were chosen.
#[derive(Debug, Clone)]
pub struct Selection {
    rules: Vec<&'static RiskRule>,
    /// The codes of the chosen findings; none where every code is chosen.
    selected: Option<BTreeSet<Code>>,
    ignored: BTreeSet<Code>,
    least: RiskSeverity,
    /// True when nothing was chosen by name.
    is_default: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            rules: risk::all().collect(),
            selected: None,
            ignored: BTreeSet::new(),
            least: RiskSeverity::High,
            is_default: true,
        }
    }
}

impl Selection {
    /// Selects findings by the ids of rules (`E001`), whole families (`E`), or names of diagnostics. Without a
    /// severity, selects all named findings, and otherwise findings of high severity.
    ///
    /// # Errors
    /// If a name selects no finding.
    pub fn new(select: &[String], ignore: &[String], least: Option<RiskSeverity>) -> Result<Self, Error> {
        if let Some(name) = select.iter().chain(ignore).find(|name| codes_of(name).is_empty()) {
            return Err(Error::invalid(unknown(name)));
        }
        let codes = |names: &[String]| names.iter().flat_map(|name| codes_of(name)).collect::<BTreeSet<_>>();
        let among = |names: &[String], rule: &RiskRule| names.iter().any(|name| is_named(rule, name));
        let rules = risk::all()
            .filter(|rule| select.is_empty() || among(select, rule))
            .filter(|rule| !among(ignore, rule))
            .collect();
        let usual = if select.is_empty() { RiskSeverity::High } else { RiskSeverity::Info };
        Ok(Self {
            rules,
            selected: (!select.is_empty()).then(|| codes(select)),
            ignored: codes(ignore),
            least: least.unwrap_or(usual),
            is_default: select.is_empty() && least.is_none(),
        })
    }

    /// Iterates over the selected rules.
    pub(super) fn rules(&self) -> impl Iterator<Item = &'static RiskRule> {
        self.rules.iter().copied()
    }

    /// Whether every code is chosen.
    pub(super) fn is_whole(&self) -> bool {
        self.selected.is_none() && self.ignored.is_empty()
    }

    /// Returns the least severity of a reported finding.
    pub(super) fn least(&self) -> RiskSeverity {
        self.least
    }

    /// Returns the rules to apply to manifests.
    pub(super) fn options(&self) -> RiskOptions {
        RiskOptions { rules: self.rules.clone(), apart: false, one_per_cause: true }
    }

    /// Returns the rules to apply to the compiled output of a workspace: without the rules that the compiler has
    /// applied to policies. Each policy accepts findings for itself, so findings of different policies are kept apart.
    pub(super) fn options_of_workspace(&self) -> RiskOptions {
        let rules = self.rules.iter().copied().filter(|rule| !rule.is_applied_while_compiling());
        RiskOptions { rules: rules.collect(), apart: true, one_per_cause: true }
    }

    /// Returns the diagnostics whose codes are chosen, and every error.
    pub(super) fn choose(&self, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        diagnostics.retain(|diagnostic| self.keeps(diagnostic));
        diagnostics
    }

    /// Whether the code of a diagnostic is chosen, or the diagnostic is an error.
    pub(super) fn keeps(&self, diagnostic: &Diagnostic) -> bool {
        // A note is about the inputs.
        diagnostic.severity != diag::Severity::Warning || self.chooses(diagnostic.code)
    }

    /// Whether a code is chosen.
    pub(super) fn chooses(&self, code: Code) -> bool {
        self.selected.as_ref().is_none_or(|selected| selected.contains(&code)) && !self.ignored.contains(&code)
    }

    /// Returns whether a finding is severe enough. A missing role is always reported: without it no answer is sure.
    pub(super) fn shows(&self, finding: &Finding) -> bool {
        finding.severity >= self.least || (self.is_default && finding.rule.code == codes::DANGLING_ROLE)
    }

    /// Whether a finding about the use of a grant is reported: the caller asked for it with an audit log.
    pub(super) fn shows_usage(&self, code: Code, severity: RiskSeverity) -> bool {
        self.chooses(code) && (self.is_default || severity >= self.least)
    }
}

/// Returns the codes of a name: the codes of rules, or any other code of a warning.
fn codes_of(name: &str) -> Vec<Code> {
    let rules: Vec<Code> = risk::all().filter(|rule| is_named(rule, name)).map(|rule| rule.code).collect();
    let other = || codes::find(name).filter(|code| code.is_warning());
    if rules.is_empty() { other().into_iter().collect() } else { rules }
}

fn is_named(rule: &RiskRule, name: &str) -> bool {
    let is_family = |name: &str| name.len() == 1 && rule.id.starts_with(name);
    risk::of_id(&name.to_ascii_uppercase()).is_some_and(|named| named.id == rule.id)
        || rule.code.id() == name
        || is_family(&name.to_ascii_uppercase())
}

fn unknown(name: &str) -> Diagnostic {
    let codes = codes::all().iter().filter(|code| code.is_warning()).map(|code| code.id());
    let names = risk::all().map(|rule| rule.id).chain(codes);
    let help = nearest(name, names).map_or_else(
        || "`bailiwick explain` lists the diagnostics; a rule is one of them, or an id such as `E001`".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    Diagnostic::error(codes::UNKNOWN_RULE, format!("there is no rule `{name}`")).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warning_can_be_chosen() {
        for code in codes::all() {
            let known = codes_of(code.id());
            assert_eq!(known.contains(code), code.is_warning(), "{}", code.id());
        }
    }

    #[test]
    fn a_code_is_of_one_rule() {
        let codes: BTreeSet<Code> = risk::all().map(|rule| rule.code).collect();
        assert_eq!(codes.len(), risk::all().count());
    }
}
