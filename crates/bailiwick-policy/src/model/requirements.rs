//! The fields that a workspace requires of grants and of accepted warnings.

use bailiwick_codes as codes;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Code, Diagnostic, Origin, Sink};
use globset::GlobSet;
use schemars::JsonSchema;
use serde::Deserialize;

use super::workspace::compiled_globs;
use super::{Date, Fill, Pattern};

/// The fields that some grants need. A grant is selected if it fits every key that is stated; without a key, every grant
/// is selected. Globs match filled names: `*` matches any text.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RequirementSpec {
    /// Globs of the ClusterRoles of a grant, with the ClusterRoles of its permission sets.
    #[serde(default)]
    pub cluster_roles: Vec<Spanned<String>>,
    /// Globs of the permission sets of a grant.
    #[serde(default)]
    pub permission_sets: Vec<Spanned<String>>,
    /// Globs of the Roles of a grant, with the Roles of its permission sets.
    #[serde(default)]
    pub roles: Vec<Spanned<String>>,
    /// Globs of the groups of a grant.
    #[serde(default)]
    pub groups: Vec<Spanned<String>>,
    /// Globs of the users of a grant.
    #[serde(default)]
    pub users: Vec<Spanned<String>>,
    /// Whether the grant holds in the whole cluster.
    #[serde(default)]
    pub cluster_wide: Option<bool>,
    /// Globs of the codes of accepted warnings, in place of grants: the entries of `metadata.allow`. Their fields are
    /// `reason` and `expires`.
    #[serde(default)]
    pub allow: Vec<Spanned<String>>,
    /// The fields that are needed.
    #[schemars(length(min = 1))]
    pub fields: Vec<Spanned<RequiredField>>,
    /// The greatest number of days from the current day to the last day.
    #[serde(default)]
    pub max_days: Option<Spanned<u32>>,
}

/// A field that a requirement can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RequiredField {
    /// A team or a person.
    Owner,
    /// The purpose.
    Reason,
    /// The last day.
    Expires,
    /// At least one approver.
    ApprovedBy,
}

impl RequiredField {
    /// Returns the name of the field in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Reason => "reason",
            Self::Expires => "expires",
            Self::ApprovedBy => "approvedBy",
        }
    }
}

/// A key of a requirement that selects grants by names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectingKey {
    /// Names of ClusterRoles.
    ClusterRoles,
    /// Names of PermissionSets.
    PermissionSets,
    /// Names of namespaced roles.
    Roles,
    /// Names of subjects of the kind Group.
    Groups,
    /// Names of subjects of the kind User.
    Users,
}

/// The parts of a grant that decide about requirements.
#[derive(Debug, Clone)]
pub struct GrantTerms {
    /// The names of the grant, each with the key that selects it.
    pub names: Vec<(SelectingKey, Pattern)>,
    /// Whether the grant holds in the whole cluster.
    pub cluster_wide: bool,
    /// The texts of the fields.
    pub fields: Vec<(RequiredField, Spanned<Pattern>)>,
}

impl GrantTerms {
    /// Whether the parts depend on the values of accounts.
    pub fn needs_account(&self) -> bool {
        let names = self.names.iter().map(|(_, name)| name);
        names.chain(self.fields.iter().map(|(_, text)| &text.value)).any(Pattern::needs_account)
    }

    /// Returns the fields with a text that is not blank.
    fn present(&self, from: Fill<'_>) -> Vec<RequiredField> {
        let has_text = |text: &Pattern| text.fill_each(from).iter().any(|text| !text.trim().is_empty());
        self.fields.iter().filter(|(_, text)| has_text(text)).map(|(field, _)| *field).collect()
    }

    /// Returns the last days, each with its location in the policy.
    pub fn last_days(&self, from: Fill<'_>) -> Vec<(Date, &Spanned<Pattern>)> {
        let days = self.fields.iter().filter(|(field, _)| *field == RequiredField::Expires);
        days.flat_map(|(_, text)| {
            let texts = text.fill_each(from);
            texts.into_iter().filter_map(move |day| Some((day.parse().ok()?, text)))
        })
        .collect()
    }
}

/// A requirement with compiled globs.
#[derive(Debug, Clone)]
pub struct GrantRequirement {
    names: Vec<(SelectingKey, GlobSet)>,
    cluster_wide: Option<bool>,
    /// Globs of codes, for accepted warnings in place of grants.
    allow: Option<GlobSet>,
    fields: Vec<RequiredField>,
    /// The greatest number of days to the last day.
    pub max_days: Option<u32>,
    /// The requirement in words, such as ``groups `a`, `b`; fields `reason` ``. Equal words mean an equal requirement.
    pub words: String,
    /// The location of the requirement.
    pub origin: Origin,
}

impl GrantRequirement {
    /// Checks the requirements of a workspace.
    pub(super) fn link_all(written: &[Spanned<RequirementSpec>], sink: &mut Sink) -> Vec<Self> {
        written.iter().map(|spec| Self::link(spec, sink)).collect()
    }

    fn link(spec: &Spanned<RequirementSpec>, sink: &mut Sink) -> Self {
        let names = [
            (SelectingKey::ClusterRoles, &spec.cluster_roles),
            (SelectingKey::PermissionSets, &spec.permission_sets),
            (SelectingKey::Roles, &spec.roles),
            (SelectingKey::Groups, &spec.groups),
            (SelectingKey::Users, &spec.users),
        ];
        let stated = names.into_iter().filter(|(_, globs)| !globs.is_empty());
        let names: Vec<_> = stated.map(|(key, globs)| (key, compiled_globs(globs, false, sink))).collect();
        check(spec, !names.is_empty() || spec.cluster_wide.is_some(), sink);
        Self {
            names,
            cluster_wide: spec.cluster_wide,
            allow: (!spec.allow.is_empty()).then(|| compiled_globs(&spec.allow, false, sink)),
            fields: spec.fields.iter().map(|field| field.value).collect(),
            max_days: spec.max_days.map(|days| days.value),
            words: words(spec),
            origin: spec.origin,
        }
    }

    /// Returns the fields that a selected grant lacks; none for a grant that is not selected.
    pub fn missing(&self, terms: &GrantTerms, from: Fill<'_>) -> Option<Vec<RequiredField>> {
        let fits = |key: SelectingKey, globs: &GlobSet| {
            let mut own = terms.names.iter().filter(|(other, _)| *other == key);
            own.any(|(_, name)| name.fill_each(from).iter().any(|name| globs.is_match(&**name)))
        };
        let is_selected = self.allow.is_none()
            && self.cluster_wide.is_none_or(|wide| wide == terms.cluster_wide)
            && self.names.iter().all(|(key, globs)| fits(*key, globs));
        is_selected.then(|| self.lacking(&terms.present(from)))
    }

    /// Returns the fields that an accepted warning lacks; none for a warning that is not selected.
    pub fn missing_of_acceptance(&self, code: Code, present: &[RequiredField]) -> Option<Vec<RequiredField>> {
        let is_selected = self.allow.as_ref().is_some_and(|globs| globs.is_match(code.id()));
        is_selected.then(|| self.lacking(present))
    }

    fn lacking(&self, present: &[RequiredField]) -> Vec<RequiredField> {
        self.fields.iter().filter(|field| !present.contains(field)).copied().collect()
    }

    /// Returns the error about missing fields, without a location. `subject` is the grant or the acceptance in words.
    pub fn missing_justification(&self, subject: &str, missing: &[RequiredField]) -> Diagnostic {
        let names: Vec<String> = missing.iter().map(|field| format!("`{}`", field.name())).collect();
        let names = names.join(", ");
        Diagnostic::error(codes::MISSING_JUSTIFICATION, format!("{subject} lacks {names}"))
            .and(self.origin, "the requirement")
            .help(format!("add {names}"))
    }
}

/// Returns a requirement in words.
fn words(spec: &RequirementSpec) -> String {
    let list = |name: &str, texts: Vec<&str>| {
        let texts: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
        (!texts.is_empty()).then(|| format!("{name} {}", texts.join(", ")))
    };
    let globs = [
        ("clusterRoles", &spec.cluster_roles),
        ("permissionSets", &spec.permission_sets),
        ("roles", &spec.roles),
        ("groups", &spec.groups),
        ("users", &spec.users),
        ("allow", &spec.allow),
    ];
    let of_globs = globs.into_iter().filter_map(|(name, globs)| {
        let texts = globs.iter().map(|glob| glob.value.as_str()).collect();
        list(name, texts)
    });
    let wide = spec.cluster_wide.map(|wide| format!("clusterWide `{wide}`"));
    let fields = list("fields", spec.fields.iter().map(|field| field.value.name()).collect());
    let days = spec.max_days.as_ref().map(|days| format!("maxDays `{}`", days.value));
    of_globs.chain(wide).chain(fields).chain(days).collect::<Vec<_>>().join("; ")
}

/// Reports a requirement that cannot be met.
fn check(spec: &Spanned<RequirementSpec>, selects_grants: bool, sink: &mut Sink) {
    let mut refuse = |message: String, origin: Origin, help: &str| {
        sink.push(Diagnostic::error(codes::INVALID_WORKSPACE, message).at(origin).help(help));
    };
    let has_end = spec.fields.iter().any(|field| field.value == RequiredField::Expires);
    if let Some(days) = spec.max_days.filter(|_| !has_end) {
        let message = "`maxDays` limits nothing without `expires`".to_owned();
        refuse(message, days.origin, "add `expires` to `fields`");
    }
    if spec.allow.is_empty() {
        return;
    }
    if selects_grants {
        let message = "`allow` selects accepted warnings, and the other keys select grants".to_owned();
        refuse(message, spec.origin, "write two requirements");
    }
    let is_of_grants =
        |field: &&Spanned<RequiredField>| matches!(field.value, RequiredField::Owner | RequiredField::ApprovedBy);
    for field in spec.fields.iter().filter(is_of_grants) {
        let message = format!("an accepted warning has no field `{}`", field.value.name());
        refuse(message, field.origin, "an entry of `metadata.allow` has `reason` and `expires`");
    }
}
