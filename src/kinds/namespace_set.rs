//! `NamespaceSet`: namespaces with their labels, annotations, quota and limits.

use crate::codes;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::shared::{LimitRangeSpec, QuotaSpec, StringMap, check_targets, warn_of_empty};
use super::stance::{NamespacePodSecurity, PodSecuritySettings, grants_of, refuse_our_keys};
use crate::diag::{Diagnostic, Sink};
use crate::model::{
    Contribution, Data, Enforcement, Fill, Kind, Linker, NamespaceProfile, ObjectBlueprint, OutputFileKey, Pattern,
    Patterns, PodSecurityProfile, Policy, PolicyMeta, RawDocument, Target, Unit,
};
use crate::yaml::Spanned;

/// The policy kind `NamespaceSet`.
pub struct NamespaceSetKind;

/// Namespaces with common labels, annotations, ResourceQuota, LimitRange and Pod Security settings.
///
/// On OpenShift a namespace also gets the Pod Security labels that the label synchronization of the cluster would set.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: NamespaceSet
/// metadata:
///   name: teams
/// spec:
///   labels: {tenancy: team}
///   podSecurity: {level: restricted}
///   namespaces:
///   - name: team-a
///   - name: team-b
///     labels: {cost-centre: "17"}
/// ```
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NamespaceSetSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// The members of the set.
    #[schemars(length(min = 1))]
    pub namespaces: Vec<NamespaceItem>,
    /// Labels of each of them.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of each of them.
    #[serde(default)]
    pub annotations: StringMap,
    /// A ResourceQuota in each of them.
    #[serde(default)]
    pub resource_quota: Option<Spanned<QuotaSpec>>,
    /// A LimitRange in each of them.
    #[serde(default)]
    pub limit_range: Option<Spanned<LimitRangeSpec>>,
    /// Pod Security settings of every namespace.
    #[serde(default)]
    pub pod_security: Option<NamespacePodSecurity>,
}

/// A namespace of the set.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NamespaceItem {
    /// The name of the Namespace object.
    pub name: Spanned<String>,
    /// Further labels; they override the labels of the set.
    #[serde(default)]
    pub labels: StringMap,
    /// Further annotations; they override the annotations of the set.
    #[serde(default)]
    pub annotations: StringMap,
    /// Pod Security settings; each field overrides the field of the set.
    #[serde(default)]
    pub pod_security: Option<NamespacePodSecurity>,
}

impl Kind for NamespaceSetKind {
    type Spec = NamespaceSetSpec;

    const NAME: &'static str = "NamespaceSet";
    const TEMPLATES: &'static [&'static str] = &[
        "namespace-set/limitrange.yaml.j2",
        "namespace-set/namespace.yaml.j2",
        "namespace-set/resourcequota.yaml.j2",
        "namespace-set/role.yaml.j2",
        "namespace-set/rolebinding.yaml.j2",
    ];
    const PATTERNS: Patterns = Patterns::Targets;

    fn link(
        document: &RawDocument<'_>,
        spec: NamespaceSetSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        if let Some(overrides) = spec.resource_quota.as_ref().and_then(|quota| quota.overrides.as_ref()) {
            sink.push(
                Diagnostic::error(
                    codes::INVALID_VALUE,
                    "`overrides` needs an account variable, but this policy has no accounts",
                )
                .at(overrides.origin)
                .help("remove the field: only a Tenancy has overrides"),
            );
        }
        let targets = linker.targets_of(&document.meta);
        let mut namespaces = Vec::with_capacity(spec.namespaces.len());
        for item in &spec.namespaces {
            let written = NamespacePodSecurity::over(item.pod_security.as_ref(), spec.pod_security.as_ref());
            let (stance, grants) = link_stance(written.as_ref(), document, linker, sink);
            let merged = |common: &StringMap, own: &StringMap| {
                let mut all = common.clone();
                all.extend(own.clone());
                all
            };
            let (labels, annotations) =
                (merged(&spec.labels, &item.labels), merged(&spec.annotations, &item.annotations));
            refuse_our_keys(&labels, &annotations, item.name.origin, sink);
            let name = Pattern::parse_checked(&item.name);
            let object = ObjectBlueprint::new("v1", "Namespace", NAMESPACE, name, item.name.origin)
                .with("labels", stance.labels(&labels, &targets))
                .with("annotations", stance.annotations(&annotations, &targets));
            let profile = stance.profile.map(|profile| profile.name().to_owned());
            namespaces.push(Namespace { object, grants });
            if let Some(profile) = profile {
                let targets = Arc::clone(&document.meta.targets);
                linker.facts.push(NamespaceProfile { namespace: item.name.origin, profile, targets });
            }
        }
        let quotas = spec.resource_quota.iter().map(|quota| &quota.name);
        let limits = spec.limit_range.iter().map(|limits| &limits.name);
        let names = spec.namespaces.iter().map(|item| &item.name).chain(quotas).chain(limits);
        warn_of_empty(names, &targets, None, sink);
        let mut inside = Vec::new();
        if let Some(quota) = &spec.resource_quota {
            inside.push(quota.blueprint("namespace-set/resourcequota.yaml.j2", quota.origin));
        }
        if let Some(limits) = &spec.limit_range {
            inside.push(limits.blueprint("namespace-set/limitrange.yaml.j2", limits.origin));
        }
        Some(Box::new(Linked { meta: document.meta.clone(), namespaces, inside }))
    }
}

const NAMESPACE: &str = "namespace-set/namespace.yaml.j2";

/// Resolves the Pod Security settings of a namespace and its profile, and returns the bindings for the use of the
/// profile.
fn link_stance<'p>(
    written: Option<&'p NamespacePodSecurity>,
    document: &RawDocument<'_>,
    linker: &'p mut Linker<'_>,
    sink: &mut Sink,
) -> (PodSecuritySettings<'p>, Vec<(Enforcement, ObjectBlueprint)>) {
    let Some(written) = written else { return (PodSecuritySettings::default(), Vec::new()) };
    written.check(sink);
    let asked = written.profile.as_ref();
    let found =
        asked.and_then(|name| linker.offers.find::<PodSecurityProfile>(name, sink).map(|profile| (name, profile)));
    let mut profile: Option<&PodSecurityProfile> = None;
    let mut grants = Vec::new();
    if let Some((name, found)) = found {
        check_targets(&found.meta, &document.meta.targets, name.origin, sink);
        if let Some(variable) = found.variables.first() {
            sink.push(
                Diagnostic::error(
                    codes::INVALID_VALUE,
                    format!(
                        "the profile `{}` uses the variable `{variable}`, but this policy has no accounts",
                        name.value
                    ),
                )
                .at(name.origin)
                .and(found.meta.origin, "the profile")
                .help("use it in a Tenancy: its accounts have variables"),
            );
        } else {
            grants = grants_of(name, name.origin, found.meta.origin);
            profile = Some(&found.content);
        }
    }
    let version = written.version.as_ref().map(|version| version.value.as_str());
    (PodSecuritySettings { profile, level: written.level, version, label_sync: written.label_sync }, grants)
}

struct Linked {
    meta: PolicyMeta,
    namespaces: Vec<Namespace>,
    inside: Vec<ObjectBlueprint>,
}

/// A namespace, with the bindings of its service accounts to its profile, by enforcement.
struct Namespace {
    object: ObjectBlueprint,
    grants: Vec<(Enforcement, ObjectBlueprint)>,
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn namespaces(&self, target: &Target, visit: &mut dyn FnMut(&Arc<str>, &Data)) {
        for namespace in &self.namespaces {
            let from = Fill::from_target(target);
            visit(&namespace.object.name.fill(from), &namespace.object.fill_field("labels", from));
        }
    }

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        for (index, namespace) in self.namespaces.iter().enumerate() {
            visit(
                OutputFileKey::Namespace(namespace.object.name.fill(Fill::from_target(target))),
                Contribution::try_from(index).unwrap_or_default(),
            );
        }
    }

    fn expand(&self, target: &Target, output_file: &OutputFileKey, part: Contribution, units: &mut Vec<Unit>) {
        let (OutputFileKey::Namespace(name), Some(namespace)) = (output_file, self.namespaces.get(part as usize))
        else {
            return;
        };
        units.push(namespace.object.fill(target, None, None));
        let grants = namespace.grants.iter().filter(|(enforcement, _)| *enforcement == target.enforcement());
        units.extend(grants.map(|(_, object)| object.fill(target, None, Some(name))));
        units.extend(self.inside.iter().map(|object| object.fill(target, None, Some(name))));
    }
}
