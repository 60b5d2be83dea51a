//! Grants that no request of an audit log used.

use bailiwick_access::cover;
use bailiwick_access::proof::RuleLink;
use bailiwick_access::risk::RiskSeverity;
use bailiwick_access::usage::BindingUsage;
use bailiwick_audit::least;
use bailiwick_codes as codes;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_workspace::words::{number, rule_text};
use bailiwick_yaml::diag::{Code, Diagnostic, Origin, Sink};

use super::rule_places::RulePlaces;
use super::selection::Selection;
use crate::audit::{AuditInputs, EvaluatedBinding, EvaluatedLog, EvaluatedSubject, evaluate, is_too_short, window};
use crate::loaded_world::LoadedWorld;

/// How many rules of unused rights are named.
const MAXIMUM_RULES: usize = 6;

/// Reports the unused bindings and rights of manifests, and returns the evaluation of the log.
pub(super) fn check(
    loaded: &LoadedWorld,
    inputs: &AuditInputs,
    selection: &Selection,
    sink: &mut Sink,
) -> EvaluatedLog {
    let evaluated = evaluate(inputs, &loaded.world, &loaded.default_world(), sink);
    let mut words = UsageWords { places: RulePlaces::new(&loaded.files, None), window: window(&inputs.log), inputs };
    for binding in &evaluated.bindings {
        for (code, severity, finding) in words.findings(binding) {
            if selection.shows_usage(code, severity) {
                sink.push(finding);
            }
        }
    }
    evaluated
}

/// The facts with which unused grants are described.
struct UsageWords<'u> {
    places: RulePlaces<'u>,
    /// The days of the log in words.
    window: String,
    inputs: &'u AuditInputs,
}

impl UsageWords<'_> {
    /// Returns the findings about a binding, each with its code and severity.
    fn findings(&mut self, binding: &EvaluatedBinding) -> Vec<(Code, RiskSeverity, Diagnostic)> {
        let EvaluatedBinding { usage, subjects } = binding;
        let is_unused = |subject: &EvaluatedSubject| subject.used.is_empty() && subject.unobservable.is_empty();
        let has_rights = subjects.iter().any(|subject| !subject.unused.is_empty());
        if has_rights && subjects.iter().all(is_unused) {
            return vec![(codes::UNUSED_BINDING, RiskSeverity::Low, self.unused_binding(usage, subjects))];
        }
        let is_reported = |subject: &&EvaluatedSubject| !subject.unused.is_empty() || !subject.wide.is_empty();
        let reported = subjects.iter().filter(is_reported);
        reported.map(|subject| (codes::UNUSED_GRANT, RiskSeverity::Info, self.unused_grant(usage, subject))).collect()
    }

    fn unused_binding(&self, usage: &BindingUsage, subjects: &[EvaluatedSubject]) -> Diagnostic {
        let who = match subjects {
            [only] => subject_words(only),
            several => format!("none of the {}", number(several.len(), "subject")),
        };
        let verb = if subjects.len() == 1 { "did not use" } else { "used" };
        let message = format!("{}, {who} {verb} {}", self.window, usage.binding.name);
        let diagnostic = Diagnostic::warning(codes::UNUSED_BINDING, message)
            .at_maybe(usage.binding.place)
            .labelled(RiskSeverity::Low.word())
            .note(format!("it binds {}", usage.role.name));
        let unseen = subjects.iter().filter(|subject| !subject.is_seen).filter_map(|subject| self.unseen(subject));
        let diagnostic = unseen.take(1).fold(diagnostic, Diagnostic::note);
        diagnostic.help(self.help("remove the binding"))
    }

    fn unused_grant(&mut self, usage: &BindingUsage, subject: &EvaluatedSubject) -> Diagnostic {
        let counted = subject.used.len() + subject.unused.len();
        let role = match usage.role.name.split_once('/') {
            Some((kind, name)) => format!("{kind} `{}`", name.rsplit_once('/').map_or(name, |(_, name)| name)),
            None => usage.role.name.clone(),
        };
        let scope = match &usage.namespace {
            Some(namespace) => format!("in `{namespace}`"),
            None => "in the whole cluster".to_owned(),
        };
        let used = subject.used.len();
        let rights = number(counted, "right");
        let message = format!("{}, {} used {used} of {rights} of {role} {scope}", self.window, subject_words(subject));
        let word = self.place(usage, subject);
        let mut diagnostic = Diagnostic::warning(codes::UNUSED_GRANT, message)
            .at_maybe(word.or(usage.binding.place))
            .labelled(RiskSeverity::Info.word());
        if let (Some(place), true) = (usage.binding.place, word.is_some()) {
            diagnostic = diagnostic.and(place, format!("granted by {}", usage.binding.name));
        }
        let unused = listed("unused", &subject.unused);
        let wide = subject
            .wide
            .iter()
            .take(MAXIMUM_RULES)
            .filter_map(|(right, narrower)| listed(&format!("`{}` was used for", rule_text(right)), narrower));
        let unobservable = subject.unobservable.iter();
        let unobservable =
            unobservable.filter_map(|(reason, rights)| listed(&format!("not observable, because {reason}"), rights));
        let unseen = if subject.is_seen { None } else { self.unseen(subject) };
        let notes = unused.into_iter().chain(wide).chain(unobservable).chain(unseen);
        let diagnostic = notes.fold(diagnostic, Diagnostic::note);
        diagnostic
            .help(self.help("bind a role without the unused rights; `bailiwick import audit` writes the least one"))
    }

    /// Returns the word of the role behind the first unused right.
    fn place(&mut self, usage: &BindingUsage, subject: &EvaluatedSubject) -> Option<Origin> {
        let wide = subject.wide.iter().map(|(right, _)| right);
        let right = subject.unused.first().or_else(|| wide.into_iter().next())?;
        let link = usage.rules.iter().find(|link| cover::rule_covers(&link.rule, right))?;
        let link = RuleLink { rule: right.clone(), ..link.clone() };
        self.places.of(&usage.role, &link)
    }

    /// Returns the note about a subject without a request in the log.
    fn unseen(&self, subject: &EvaluatedSubject) -> Option<String> {
        let name = &subject.subject;
        self.inputs.policy.is_none().then(|| {
            format!(
                "the log has no request of {name}; pass `--audit-policy` to find out whether the API server logs them"
            )
        })
    }

    /// Returns what to do, if the log has enough days for it.
    fn help(&self, remedy: &str) -> String {
        if is_too_short(&self.inputs.log) {
            return "the log is too short to remove anything: use 30 days of events".to_owned();
        }
        remedy.to_owned()
    }
}

/// Returns the subject of a sentence.
fn subject_words(subject: &EvaluatedSubject) -> String {
    let of = if subject.is_group { "the members of " } else { "" };
    format!("{of}`{}`", subject.subject)
}

/// Returns rights as a note; none without rights.
fn listed<'r>(what: &str, rights: impl IntoIterator<Item = &'r PolicyRule>) -> Option<String> {
    let rules = least::rules(rights);
    let named: Vec<String> = rules.iter().take(MAXIMUM_RULES).map(rule_text).collect();
    let more = match rules.len().saturating_sub(named.len()) {
        0 => String::new(),
        more => format!("; and {}", number(more, "more rule")),
    };
    (!named.is_empty()).then(|| format!("{what}: {}{more}", named.join("; ")))
}
