//! The forms of a map of access. Each form is a view of one [`AccessMap`].

mod html;
#[cfg(test)]
mod tests;
mod text;

use bailiwick_analysis::access_map::{
    AccessCell, AccessMap, AccessQuestion, GrantedAccess, NamespaceGroup, ReportedPath, ReportedPolicies, TargetAccess,
};
use bailiwick_workspace::words::{grouped, number};

use super::json;
use super::migration::PspMigrationReport;
use super::review::json::MAXIMUM_MEMBERS;
use super::review::phrase::Phrase;
use super::review::view::severity;
use super::review::words;

/// The most roles of a grant in a line.
const MAXIMUM_ROLES: usize = 6;

/// The formats of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum AccessMapForm {
    /// Plain text.
    Text,
    /// JSON; `bailiwick schema report` prints its schema.
    Json,
    /// One HTML file without requests.
    Html,
}

impl AccessMapForm {
    /// Returns a map in this form. The page has the migration of the PodSecurityPolicies of the inputs as a section.
    pub fn write(self, map: &AccessMap, migration: Option<&PspMigrationReport<'_>>) -> String {
        match self {
            Self::Text => text::text(map),
            Self::Json => {
                let mut first = map.clone();
                first.classes.iter_mut().for_each(|class| class.members.truncate(MAXIMUM_MEMBERS));
                let groups = first.targets.iter_mut().flat_map(|target| &mut target.namespaces);
                groups.for_each(|group| group.names.truncate(MAXIMUM_MEMBERS));
                json::pretty(&json::value(&first))
            }
            Self::Html => html::text(map, migration),
        }
    }
}

/// Returns the name of a class with its number of members.
fn who(map: &AccessMap, class: usize) -> Phrase {
    let Some(class) = map.classes.get(class) else { return Phrase::new("no subject") };
    let who = Phrase::default().name(class.template.as_str());
    if class.count == 1 { who } else { who.words(format!(" × {}", grouped(class.count))) }
}

/// Returns the name of a target with its version.
fn target_name(target: &TargetAccess) -> Phrase {
    let name = match &target.target {
        Some(name) => Phrase::default().name(name.as_str()),
        None => Phrase::new("manifests"),
    };
    name.words(", Kubernetes ").words(target.version.clone())
}

/// Returns a sentence about the PodSecurityPolicies of a target; none without any.
fn policies(target: &TargetAccess) -> Option<String> {
    let ReportedPolicies { evaluated, ignored } = target.pod_security_policies.as_ref()?;
    let number = |count: usize| {
        if count == 1 { "1 PodSecurityPolicy".to_owned() } else { format!("{} PodSecurityPolicies", grouped(count)) }
    };
    let plan = "`bailiwick migrate psp` plans the replacement";
    match (*evaluated, *ignored) {
        (0, 0) => None,
        (evaluated, 0) => Some(format!("pods have to fit {}; {plan}", number(evaluated))),
        (_, ignored) => Some(format!(
            "{} ignored, since Kubernetes {} has none: `--kubernetes-version` names the version of the cluster; {plan}",
            number(ignored),
            target.version
        )),
    }
}

/// Returns the scope and the roles of permissions.
fn roles(grant: &GrantedAccess) -> Phrase {
    let scope = match grant.namespaces {
        None => Phrase::default().strong("cluster-wide"),
        Some(count) => Phrase::new("in ").strong(number(count, "namespace")),
    };
    scope.words(": ").names(grant.roles.iter().map(String::as_str), MAXIMUM_ROLES)
}

/// Returns the first rules of permissions.
fn rules(grant: &GrantedAccess) -> Phrase {
    words::rules(&grant.rules).words(if grant.own_names { " (each subject with its own names)" } else { "" })
}

/// Returns a question in words, such as `create pods/exec`.
fn question(question: &AccessQuestion) -> String {
    match (question.verb.as_str(), question.resource.as_str()) {
        ("*", "*") => "every permission".to_owned(),
        (verb, resource) => format!("{verb} {resource}"),
    }
}

/// Returns a cell in words; none for a request without an allowed scope.
fn cell(cell: AccessCell) -> Option<String> {
    match cell {
        AccessCell::Nowhere => None,
        AccessCell::Namespaces { count } => Some(format!("in {}", number(count, "namespace"))),
        AccessCell::Everywhere => Some("everywhere".to_owned()),
    }
}

/// Returns a path in one line.
fn path_title(map: &AccessMap, path: &ReportedPath) -> Phrase {
    let steps = number(path.steps.len(), "step");
    who(map, path.class).words(" reaches ").name(path.reaches.as_str()).words(format!(": {steps}, {}", path.certainty))
}

/// Returns the policy, the level and the profiles of a group of namespaces.
fn group_name(group: &NamespaceGroup) -> Phrase {
    let phrase = match &group.policy {
        Some(policy) => Phrase::default().name(policy.as_str()),
        None => Phrase::new("manifests"),
    };
    let phrase = match &group.level {
        Some(level) => phrase.words(", Pod Security level ").name(level.as_str()),
        None => phrase.words(", without a Pod Security level"),
    };
    match group.profiles.as_slice() {
        [] => phrase,
        [only] => phrase.words(", PodSecurityProfile ").name(only.as_str()),
        several => phrase.words(", PodSecurityProfiles ").names(several.iter().map(String::as_str), several.len()),
    }
}

/// Returns the first namespaces of a group.
fn group_sample(group: &NamespaceGroup) -> Phrase {
    let names = group.sample.iter().map(String::as_str);
    let more = group.count.saturating_sub(group.sample.len());
    let more = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
    Phrase::default().names(names, group.sample.len()).words(more)
}

/// Returns the worst severity of the powers of a class; empty without a power.
fn worst(subject: &bailiwick_analysis::access_map::SubjectAccess) -> &'static str {
    subject.powers.iter().map(|power| power.severity).max().map_or("", severity)
}
