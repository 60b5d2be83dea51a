//! The findings of a comparison with a live cluster as diagnostics, for every format of reports.

use bailiwick_access::compare::Affected;
use bailiwick_access::cover;
use bailiwick_access::who_can::PermissionScope;
use bailiwick_codes as codes;
use bailiwick_workspace::words::{number, rule_text};
use bailiwick_yaml::diag::Diagnostic;

use super::{AccessDifference, Drift, DriftClass, DriftFinding};

/// How many rules and bindings of a change a message names.
const NAMED_RULES: usize = 5;

impl Drift {
    /// Returns the failing findings as errors.
    pub(super) fn to_diagnostics(&self) -> Vec<Diagnostic> {
        let failing = self.findings.iter().filter(|finding| finding.fails());
        failing.map(of_object).chain(self.access.iter().flat_map(of_access)).collect()
    }
}

fn of_object(finding: &DriftFinding) -> Diagnostic {
    let object = &finding.object;
    let (code, message, help) = match finding.class {
        DriftClass::Missing => (
            codes::DRIFT_MISSING,
            format!("`{object}` is missing in the cluster"),
            "let the applier apply it, or remove it from the policies",
        ),
        DriftClass::Changed => (
            codes::DRIFT_CHANGED,
            format!("`{object}` differs from the policies: {}", finding.differences()),
            "undo the change in the cluster, or change the policies",
        ),
        DriftClass::Terminating => (
            codes::DRIFT_TERMINATING,
            format!("`{object}` is being deleted in the cluster"),
            "look for finalizers; the applier creates it again once it is gone",
        ),
        DriftClass::Unmanaged => {
            let role = finding.role.iter().map(|role| format!(" and binds `{role}`")).collect::<String>();
            let subjects = match finding.subjects.as_slice() {
                [] => String::new(),
                [only] => format!(" to `{only}`"),
                [first, others @ ..] => format!(" to `{first}` and {}", number(others.len(), "more subject")),
            };
            (
                codes::DRIFT_UNMANAGED,
                format!("`{object}` is in the cluster{role}{subjects}, and no policy writes it"),
                "delete it, or write a policy for it",
            )
        }
    };
    let writer = finding.writer.as_ref().map(|writer| match &writer.day {
        Some(day) => format!("written by `{}` on {day}", writer.manager),
        None => format!("written by `{}`", writer.manager),
    });
    let found = Diagnostic::error(code, message).at_maybe(finding.origin).help(help);
    writer.into_iter().fold(found, Diagnostic::note)
}

/// Describes what subjects gain and lose, one diagnostic each.
fn of_access(difference: &AccessDifference) -> impl Iterator<Item = Diagnostic> {
    let change = &difference.change;
    let mut named: Vec<String> = difference.by.iter().take(NAMED_RULES).map(|link| format!("`{link}`")).collect();
    named.extend(
        difference.by.len().checked_sub(NAMED_RULES).filter(|more| *more > 0).map(|more| format!("{more} more")),
    );
    let by = (!named.is_empty()).then(|| format!("by {}", named.join(", ")));
    let who = subjects(&change.subjects);
    let sides = [("more than the policies grant", &change.gained), ("less than the policies grant", &change.lost)];
    let sides = sides.into_iter().filter(|(_, rules)| !rules.is_empty());
    sides.map(move |(amount, rules)| {
        let rules = cover::compacted(rules);
        let named: Vec<String> = rules.iter().take(NAMED_RULES).map(rule_text).collect();
        let more = match rules.len().saturating_sub(NAMED_RULES) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let message = format!("{who} can do {amount}: {}{more}", named.join("; "));
        let found =
            Diagnostic::error(codes::DRIFT_ACCESS, message).help("`bailiwick drift` lists the objects that differ");
        by.iter().cloned().fold(found, Diagnostic::note)
    })
}

fn subjects(affected: &[Affected]) -> String {
    let shown = |affected: &Affected| match &affected.scope {
        PermissionScope::Cluster => format!("`{}`", affected.subject),
        PermissionScope::Namespace(namespace) => format!("`{}` in `{namespace}`", affected.subject),
    };
    match affected {
        [] => String::new(),
        [only] => shown(only),
        [first, others @ ..] => format!("{} and {}", shown(first), number(others.len(), "more subject")),
    }
}
