//! Enforcement of a level or a profile in a namespace: labels, annotations, and permission to use the profile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_admission::gate::FIRST_MINOR_WITH_LEVELS;
use bailiwick_admission::level::{Level, PolicyVersion};
use bailiwick_admission::scc;
use bailiwick_admission::scc::defaults::role_name;
use bailiwick_admission::standards::labels::PodSecurityMode;
use bailiwick_codes as codes;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use schemars::JsonSchema;
use serde::Deserialize;

use super::account_profiles::{AccountProfile, AccountProfileSpec};
use super::delivered::Removal;
use super::shared::{NewBinding, RoleRef, StringMap};
use crate::model::{
    Blueprint, Enforcement, Linker, OWN_NAMESPACE, ObjectBlueprint, Pattern, Platform, PodSecurityProfile, Target,
};

/// The label that enables or disables the Pod Security label synchronization of OpenShift in a namespace.
const LABEL_SYNC: &str = "security.openshift.io/scc.podSecurityLabelSync";

/// Pod Security settings of a namespace.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NamespacePodSecurity {
    /// The PodSecurityProfile of the namespace. On platforms with RBAC for profiles, all service accounts of the
    /// namespace may use it.
    #[serde(default)]
    pub profile: Option<Spanned<String>>,
    /// The Pod Security level. Default: the level of the profile; on OpenShift, the level set by the label
    /// synchronization.
    #[serde(default)]
    pub level: Option<Level>,
    /// The version of the checks: `latest`, or a version such as `v1.37`. Default: the version of the target.
    #[serde(default)]
    pub version: Option<Spanned<String>>,
    /// On OpenShift: true if the label synchronization of the cluster overwrites the labels, false if it leaves them
    /// unchanged. Default: it sets missing labels.
    #[serde(default)]
    pub label_sync: Option<bool>,
    /// `none` for no Pod Security label, also on OpenShift, where the labels are computed otherwise.
    #[serde(default)]
    pub labels: Option<Spanned<LevelLabels>>,
    /// The profiles of single service accounts, in place of the profile of the namespace. The namespace has the least strict Pod
    /// Security level of all its profiles. On platforms with RBAC for profiles, such an account may use both profiles.
    #[serde(default)]
    pub service_accounts: Vec<AccountProfileSpec>,
}

/// The Pod Security labels of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LevelLabels {
    /// No label.
    None,
}

/// Pod Security settings with a resolved profile.
#[derive(Clone, Copy, Default)]
pub(crate) struct PodSecuritySettings<'p> {
    pub(crate) profile: Option<&'p PodSecurityProfile>,
    pub(crate) level: Option<Level>,
    pub(crate) version: Option<&'p str>,
    pub(crate) label_sync: Option<bool>,
    /// Whether the namespace gets no Pod Security label.
    pub(crate) without_levels: bool,
    /// The profiles of single service accounts.
    pub(crate) accounts: &'p [AccountProfile],
}

impl<'p> PodSecuritySettings<'p> {
    /// Returns the settings of a namespace, with its resolved profile and the profiles of single service accounts.
    pub(crate) fn of(
        written: Option<&'p NamespacePodSecurity>,
        profile: Option<&'p PodSecurityProfile>,
        accounts: &'p [AccountProfile],
    ) -> Self {
        let Some(written) = written else { return Self { profile, accounts, ..Self::default() } };
        Self {
            profile,
            level: written.level,
            version: written.version.as_ref().map(|version| version.value.as_str()),
            label_sync: written.label_sync,
            without_levels: written.labels.is_some(),
            accounts,
        }
    }
}

impl NamespacePodSecurity {
    /// Merges the settings of one namespace over the settings of all.
    pub(crate) fn over(own: Option<&Self>, common: Option<&Self>) -> Option<Self> {
        let (Some(own), Some(common)) = (own, common) else { return own.or(common).cloned() };
        Some(Self {
            profile: own.profile.clone().or_else(|| common.profile.clone()),
            level: own.level.or(common.level.filter(|_| own.labels.is_none())),
            version: own.version.clone().or_else(|| common.version.clone()),
            label_sync: own.label_sync.or(common.label_sync),
            labels: own.labels.or(common.labels.filter(|_| own.level.is_none())),
            service_accounts: match own.service_accounts.as_slice() {
                [] => common.service_accounts.clone(),
                own => own.to_vec(),
            },
        })
    }

    /// Reports an invalid version, and a level without labels.
    pub(crate) fn check(&self, sink: &mut Sink) {
        if let Some(labels) = self.labels.filter(|_| self.level.is_some()) {
            let message = "these settings have a level, and no label to enforce it";
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(labels.origin);
            sink.push(diagnostic.help("remove `labels: none` or `level`"));
        }
        let Some(version) = &self.version else { return };
        if PolicyVersion::parse(version).is_none() {
            sink.push(
                Diagnostic::error(
                    codes::INVALID_VALUE,
                    format!("`{}` is not a version of the Pod Security checks", version.value),
                )
                .at(version.origin)
                .help("write `latest`, or a minor such as `v1.36`"),
            );
        }
    }
}

impl PodSecuritySettings<'_> {
    /// Builds the labels of a namespace on each target: its own labels override the labels for Pod Security.
    pub(crate) fn labels(&self, own: &StringMap, targets: &[Target]) -> Blueprint {
        by_target(own, targets, &|target| self.labels_on(target))
    }

    /// Builds the annotations of a namespace on each target: its own annotations override the values of the profile's
    /// variables, and the annotations for its removal.
    pub(crate) fn annotations(&self, own: &StringMap, removal: Removal<'_>) -> Blueprint {
        by_target(own, removal.targets, &|target| {
            let profile = self.profile.filter(|_| target.enforcement() == Enforcement::AdmissionPolicy);
            let variables = profile.map(PodSecurityProfile::variables).unwrap_or_default();
            let values = variables.iter().map(|name| (PodSecurityProfile::annotation(name), format!("{{{name}}}")));
            // The lists of accounts come last: no variable can take their place.
            let lists = profile.map(|_| AccountProfile::annotations(self.accounts));
            values.chain(lists.into_iter().flatten()).chain(removal.annotations_on(target)).collect()
        })
    }

    /// Returns the least strict Pod Security level of the profile of the namespace and the profiles of its service accounts.
    fn level_of(&self, own: &PodSecurityProfile) -> Option<Level> {
        let levels = self.accounts.iter().filter_map(|one| one.profile().level());
        own.level().map(|level| Level::loosest(levels.chain([level])))
    }

    fn labels_on(&self, target: &Target) -> StringMap {
        let mut labels = StringMap::new();
        let is_openshift = target.platform == Platform::Openshift;
        if let Some(sync) = self.label_sync.filter(|_| is_openshift) {
            labels.insert(LABEL_SYNC.to_owned(), sync.to_string());
        }
        let held = self.profile.filter(|_| target.enforcement() == Enforcement::AdmissionPolicy);
        if let Some(profile) = held {
            labels.insert(PodSecurityProfile::LABEL.to_owned(), profile.name().replace('{', "{{").replace('}', "}}"));
            labels.extend(AccountProfile::labels(self.accounts));
        }
        let by_level = self.profile.filter(|_| target.enforcement() == Enforcement::None);
        let level = self.level.or(held.or(by_level).and_then(|own| self.level_of(own)));
        let level = level.filter(|_| !self.without_levels);
        if let Some(level) = level.filter(|_| target.version.minor() >= FIRST_MINOR_WITH_LEVELS) {
            let default = if is_openshift { "latest".to_owned() } else { format!("v1.{}", target.version.minor()) };
            let version = self.version.map_or(default, str::to_owned);
            // With `privileged`, the other two modes have no effect.
            let has_effect =
                |mode: PodSecurityMode| is_openshift || level != Level::Privileged || mode == PodSecurityMode::Enforce;
            for mode in target.pod_security_stage.modes.iter().copied().filter(|mode| has_effect(*mode)) {
                labels.insert(mode.label(), level.name().to_owned());
                labels.insert(mode.version_label(), version.clone());
            }
        }
        labels
    }
}

/// Rejects labels and annotations that enforce profiles: in a policy they would disable the enforcement.
pub(crate) fn refuse_our_keys(labels: &StringMap, annotations: &StringMap, place: Origin, sink: &mut Sink) {
    for key in labels.keys().chain(annotations.keys()).filter(|key| key.starts_with("bailiwick.dev/")) {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, format!("only this program writes `{key}`"))
                .at(place)
                .help("remove it; set the profile of a namespace with `podSecurity`"),
        );
    }
}

/// Merges the own entries over the entries of each target.
pub(crate) fn by_target(own: &StringMap, targets: &[Target], more: &dyn Fn(&Target) -> StringMap) -> Blueprint {
    let each = targets.iter().map(|target| {
        let mut all = more(target);
        all.extend(own.clone());
        (target.name.clone(), Blueprint::from_value(&all))
    });
    let each: Vec<(String, Blueprint)> = each.collect();
    if each.is_empty() { Blueprint::from_value(own) } else { Blueprint::by_target(each) }
}

/// Builds the permission of a namespace's service accounts to use a profile: a Role and its binding for a
/// PodSecurityPolicy, a binding to the ClusterRole of the constraints on OpenShift.
fn grants_of(profile: &str, asked: Origin, content: Origin) -> Vec<(Enforcement, ObjectBlueprint)> {
    uses_of(profile, &accounts_of_the_namespace(), asked, content)
}

/// The profile that a namespace names, with the objects that allow its service accounts to use the profile.
pub(crate) struct NamedProfile {
    pub(crate) profile: Arc<PodSecurityProfile>,
    pub(crate) grants: Vec<(Enforcement, ObjectBlueprint)>,
}

impl NamedProfile {
    /// Finds the profile on some targets. Reports a profile with variables of accounts; `help` is the remedy.
    pub(crate) fn find(
        name: &Spanned<String>,
        targets: &BTreeSet<String>,
        help: &str,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Self> {
        let found = linker.offers.find::<PodSecurityProfile>(name, targets, sink)?;
        if let Some(variable) = found.variables.first() {
            let message = format!("the profile `{}` uses the variable `{variable}` of an account", name.value);
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(name.origin);
            sink.push(diagnostic.and(found.meta.origin, "the profile").help(help));
            return None;
        }
        let grants = grants_of(name, name.origin, found.meta.origin);
        Some(Self { profile: Arc::clone(&found.content), grants })
    }
}

/// Builds the permission of some service accounts of a namespace to use a profile.
pub(crate) fn account_grants_of(
    profile: &str,
    accounts: &[String],
    asked: Origin,
    content: Origin,
) -> Vec<(Enforcement, ObjectBlueprint)> {
    let subject = |name: &String| {
        let namespace = format!("{{{OWN_NAMESPACE}}}");
        BTreeMap::from([("kind", "ServiceAccount".to_owned()), ("name", name.clone()), ("namespace", namespace)])
    };
    let subjects: Vec<BTreeMap<&str, String>> = accounts.iter().map(subject).collect();
    uses_of(profile, &Blueprint::from_value(&subjects), asked, content)
}

/// Builds the permission of some subjects to use a profile in a namespace.
fn uses_of(profile: &str, subjects: &Blueprint, asked: Origin, content: Origin) -> Vec<(Enforcement, ObjectBlueprint)> {
    let name = profile.replace('{', "{{").replace('}', "}}");
    let psp_role = format!("use-psp-{name}");
    let rule = PolicyRule {
        verbs: vec!["use".to_owned()],
        api_groups: vec!["policy".to_owned()],
        resources: vec!["podsecuritypolicies".to_owned()],
        resource_names: vec![name.clone()],
        non_resource_urls: Vec::new(),
    };
    let pattern = Pattern::parse_checked(&psp_role);
    let role = ObjectBlueprint::new(super::shared::RBAC, "Role", "namespace-set/role.yaml.j2", pattern, asked)
        .with("rules", Blueprint::from_value(&vec![rule]))
        .content_at(content);
    let bound = |name: &str, kind: &'static str, role: &str| {
        let template = "namespace-set/rolebinding.yaml.j2";
        let (role, subjects) = (&RoleRef::new(kind, role), subjects.clone());
        let binding = NewBinding { kind: "RoleBinding", template, name, role, subjects, origin: asked };
        binding.blueprint().content_at(content)
    };
    let constraints = role_name(&name);
    vec![
        (Enforcement::PodSecurityPolicy, role),
        (Enforcement::PodSecurityPolicy, bound(&psp_role, "Role", &psp_role)),
        (Enforcement::SecurityContextConstraints, bound(&constraints, "ClusterRole", &constraints)),
    ]
}

/// Builds the permission of a tenant's service accounts to use its own constraints: a Role and its binding.
pub(crate) fn tenant_grants(constraints: &str, asked: Origin, content: Origin) -> [ObjectBlueprint; 2] {
    let name = format!("use-scc-{constraints}");
    let rule = PolicyRule {
        verbs: vec!["use".to_owned()],
        api_groups: vec![scc::GROUP.to_owned()],
        resources: vec![scc::RESOURCE.to_owned()],
        resource_names: vec![constraints.to_owned()],
        non_resource_urls: Vec::new(),
    };
    let role =
        ObjectBlueprint::new(super::shared::RBAC, "Role", "tenancy/role.yaml.j2", Pattern::parse_checked(&name), asked)
            .with("rules", Blueprint::from_value(&vec![rule]))
            .content_at(content);
    let role_ref = RoleRef::new("Role", &name);
    let template = "tenancy/rolebinding.yaml.j2";
    [role, bind_accounts(template, &name, &role_ref, asked).content_at(content)]
}

/// Builds a binding of every service account in its namespace.
fn bind_accounts(template: &'static str, name: &str, role: &RoleRef, origin: Origin) -> ObjectBlueprint {
    NewBinding { kind: "RoleBinding", template, name, role, subjects: accounts_of_the_namespace(), origin }.blueprint()
}

/// Returns the group of every service account in the namespace of a binding.
fn accounts_of_the_namespace() -> Blueprint {
    let group: BTreeMap<&str, String> = BTreeMap::from([
        ("apiGroup", "rbac.authorization.k8s.io".to_owned()),
        ("kind", "Group".to_owned()),
        ("name", format!("system:serviceaccounts:{{{OWN_NAMESPACE}}}")),
    ]);
    Blueprint::from_value(&vec![group])
}
