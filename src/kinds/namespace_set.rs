//! `NamespaceSet`: namespaces with their labels, annotations, quota and limits.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::shared::{LimitRangeSpec, QuotaSpec, StringMap};
use crate::diag::{Code, Diagnostic, Sink};
use crate::model::{
    Blueprint, Contribution, Data, Fill, Home, Kind, Linker, ObjectBlueprint, Pattern, Patterns, Policy, PolicyMeta,
    RawDocument, Target, Unit,
};
use crate::yaml::Spanned;

/// The kind.
pub struct NamespaceSetKind;

/// Namespaces that share labels, annotations, a ResourceQuota and a LimitRange.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: NamespaceSet
/// metadata:
///   name: teams
/// spec:
///   labels: {tenancy: team}
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
    /// The namespaces.
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
}

/// One namespace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NamespaceItem {
    /// Its name.
    pub name: Spanned<String>,
    /// Further labels; they win over those of the set.
    #[serde(default)]
    pub labels: StringMap,
    /// Further annotations; they win over those of the set.
    #[serde(default)]
    pub annotations: StringMap,
}

impl Kind for NamespaceSetKind {
    type Spec = NamespaceSetSpec;

    const NAME: &'static str = "NamespaceSet";
    const TEMPLATES: &'static [&'static str] =
        &["namespace-set/limitrange.yaml.j2", "namespace-set/namespace.yaml.j2", "namespace-set/resourcequota.yaml.j2"];
    const PATTERNS: Patterns = Patterns::Targets;

    fn link(
        document: &RawDocument<'_>,
        spec: NamespaceSetSpec,
        _: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        if let Some(overrides) = spec.resource_quota.as_ref().and_then(|quota| quota.overrides.as_ref()) {
            sink.push(
                Diagnostic::error(
                    Code::InvalidValue,
                    "`overrides` takes an account's variable, and there are no accounts",
                )
                .at(overrides.origin)
                .help("overrides are for a Tenancy; leave the field out"),
            );
        }
        let merged = |common: &StringMap, own: &StringMap| {
            let mut all = common.clone();
            all.extend(own.clone());
            Blueprint::of(&all)
        };
        let namespaces = spec
            .namespaces
            .iter()
            .map(|item| {
                let name = Pattern::parse_checked(&item.name);
                ObjectBlueprint::new("v1", "Namespace", "namespace-set/namespace.yaml.j2", name, item.name.origin)
                    .with("labels", merged(&spec.labels, &item.labels))
                    .with("annotations", merged(&spec.annotations, &item.annotations))
            })
            .collect();
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

struct Linked {
    meta: PolicyMeta,
    namespaces: Vec<ObjectBlueprint>,
    inside: Vec<ObjectBlueprint>,
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn namespaces(&self, target: &Target, visit: &mut dyn FnMut(&Arc<str>, &Data)) {
        for namespace in &self.namespaces {
            let from = Fill::of(target);
            visit(&namespace.name.fill(from), &namespace.fill_field("labels", from));
        }
    }

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(Home, Contribution)) {
        for (index, namespace) in self.namespaces.iter().enumerate() {
            visit(
                Home::Namespace(namespace.name.fill(Fill::of(target))),
                Contribution::try_from(index).unwrap_or_default(),
            );
        }
    }

    fn expand(&self, target: &Target, home: &Home, part: Contribution, units: &mut Vec<Unit>) {
        let (Home::Namespace(name), Some(namespace)) = (home, self.namespaces.get(part as usize)) else {
            return;
        };
        units.push(namespace.fill(target, None, None));
        units.extend(self.inside.iter().map(|object| object.fill(target, None, Some(name))));
    }
}
