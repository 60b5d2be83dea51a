//! `Stack`: a Crossplane package and its installations.

mod folder;
mod provider;
mod weigh;

use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_crossplane::image::{Image, Reader};
use bailiwick_crossplane::install::{Install, InstallKind};
use bailiwick_crossplane::object::ObjectContent;
use bailiwick_crossplane::package::RequestedRule;
use bailiwick_crossplane::revision::{ManagerRevision, Verbs};
use bailiwick_crossplane::stack::Stack;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use schemars::JsonSchema;
use serde::Deserialize;

use super::packaged::Templates;
use crate::model::{
    CommonMetadataSpec, Contribution, ForeignDocuments, InstalledStack, Kind, Linker, OutputFileKey, Patterns, Policy,
    PolicyMeta, RawDocument, Target, Unit,
};
#[cfg(test)]
pub(super) use folder::APP_SCHEMA;
#[cfg(test)]
pub(super) use provider::METADATA_SCHEMA;

/// The policy kind `Stack`.
pub struct StackKind;

/// An installed Crossplane package: the service account of its controller, the permissions of the controller, and the
/// roles for people.
///
/// A package is a folder as its author publishes it, with `app.yaml` and `*crd.yaml`. Its controller gets ConfigMaps,
/// Secrets and Events, the resources of its own definitions, and the definitions under `dependsOn`; other permissions
/// cannot be requested. A package with the scope `Namespaced` gets them in the namespace of its StackInstall, a package
/// with the scope `Cluster` in the whole cluster.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: Stack
/// metadata:
///   name: blog
/// spec:
///   package: packages/blog
///   revision: v0.9
///   installs:
///   - kind: StackInstall
///     namespace: team-a
/// ```
///
/// `revision` selects the rules. `"1.0"` is the design document of the Stack Manager, and `"1.1"` also allows
/// cluster-scoped definitions for cluster stacks. `v0.9` and `v0.11` are Crossplane releases: each version of a package
/// has its own ClusterRoles, with roles for people beside the role of the controller. `rbac-manager-v1` and
/// `rbac-manager` are the RBAC manager, the successor of the Stack Manager, with ProviderRevisions and
/// ConfigurationRevisions; its packages have `crossplane.yaml`.
///
/// Bailiwick also reports conflicts between the stacks of a target: one definition with two schemas, two instances of a
/// cluster stack, a dependency without a provider. `bailiwick explain stacks` shows the order of installation and the
/// permissions of each stack. Both cover the packages of the Stack Manager.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct StackSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Labels and annotations of every object of the policy.
    #[serde(default)]
    pub common_metadata: CommonMetadataSpec,
    /// The folder of the package, relative to the folder of this policy.
    pub package: Spanned<String>,
    /// The image of the package, such as `registry.example.org/acme/blog:v1.0.0`. Its tag is the version of a package
    /// without one, and its organisation decides the provider family.
    #[serde(default)]
    pub image: Option<Spanned<String>>,
    /// The rules to apply: `1.0`, `1.1`, `v0.9`, `v0.11`, `rbac-manager-v1`, `rbac-manager`. Default: `1.0`.
    #[serde(default)]
    pub revision: ManagerRevision,
    /// Whether full access is written as `*` or as the list of verbs. Default: `any`, the star.
    #[serde(default)]
    pub verbs: Verbs,
    /// The installations of the package.
    #[schemars(length(min = 1))]
    pub installs: Vec<Spanned<InstallSpec>>,
    /// With `rbac-manager-v1`: the permissions that providers may request, the rules of
    /// `crossplane:allowed-provider-permissions`. Default: none.
    #[serde(default)]
    pub allowed_permissions: Vec<RequestedRule>,
}

/// A request to install the package.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct InstallSpec {
    /// The kind of the install object.
    pub kind: Requested,
    /// The name of the install object. Default: the name of the policy.
    #[serde(default)]
    pub name: Option<String>,
    /// The namespace of the controller.
    pub namespace: String,
}

/// The kind of an install object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Requested {
    /// A stack for one namespace.
    StackInstall,
    /// A stack for the whole cluster.
    ClusterStackInstall,
    /// A StackInstall by its name in v0.11.
    PackageInstall,
    /// A ClusterStackInstall by its name in v0.11.
    ClusterPackageInstall,
    /// A provider, by the name of its revision.
    ProviderRevision,
    /// A package of composite resources, by the name of its revision.
    ConfigurationRevision,
}

impl Requested {
    /// Returns the kind of the object.
    pub fn as_str(self) -> &'static str {
        match self {
            Requested::StackInstall => "StackInstall",
            Requested::ClusterStackInstall => "ClusterStackInstall",
            Requested::PackageInstall => "PackageInstall",
            Requested::ClusterPackageInstall => "ClusterPackageInstall",
            Requested::ProviderRevision => "ProviderRevision",
            Requested::ConfigurationRevision => "ConfigurationRevision",
        }
    }

    /// Returns the request to the Stack Manager; none for a request to the RBAC manager.
    fn install_kind(self) -> Option<InstallKind> {
        match self {
            Requested::StackInstall => Some(InstallKind::StackInstall),
            Requested::ClusterStackInstall => Some(InstallKind::ClusterStackInstall),
            Requested::PackageInstall => Some(InstallKind::PackageInstall),
            Requested::ClusterPackageInstall => Some(InstallKind::ClusterPackageInstall),
            Requested::ProviderRevision | Requested::ConfigurationRevision => None,
        }
    }

    /// Returns the kinds of requests of a revision.
    fn known_to(revision: ManagerRevision) -> [Self; 2] {
        match revision {
            ManagerRevision::Seed | ManagerRevision::SeedNext | ManagerRevision::StackManager => {
                [Requested::StackInstall, Requested::ClusterStackInstall]
            }
            ManagerRevision::PackageManager => [Requested::PackageInstall, Requested::ClusterPackageInstall],
            ManagerRevision::RbacManagerV1 | ManagerRevision::RbacManager => {
                [Requested::ProviderRevision, Requested::ConfigurationRevision]
            }
        }
    }
}

impl Kind for StackKind {
    type Spec = StackSpec;

    const NAME: &'static str = "Stack";
    const TEMPLATES: &'static [&'static str] = &[
        "stack/clusterrole.yaml.j2",
        "stack/clusterrolebinding.yaml.j2",
        "stack/role.yaml.j2",
        "stack/rolebinding.yaml.j2",
        "stack/serviceaccount.yaml.j2",
    ];
    const PATTERNS: Patterns = Patterns::Own;

    fn link(
        document: &RawDocument<'_>,
        spec: StackSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        check_revision(&spec, document, sink);
        if spec.revision.is_rbac_manager() {
            return provider::link(document, &spec, linker, sink);
        }
        let read = folder::read(document, &spec, linker, sink)?;
        let package = Arc::new(read.package?);
        let mut stacks = Vec::with_capacity(spec.installs.len());
        for install in &spec.installs {
            let Some(kind) = install.kind.install_kind() else { continue };
            let stack = Stack {
                package: Arc::clone(&package),
                install: Install {
                    kind,
                    namespace: install.namespace.clone(),
                    name: install.name.clone().unwrap_or_else(|| document.meta.name.to_string()),
                    origin: install_origin(install, document),
                },
                revision: spec.revision,
                verbs: spec.verbs,
            };
            let mut found = Sink::new();
            stack.check(&mut found);
            // A rejected stack would cause misleading diagnostics about others.
            if !found.has_errors() {
                stacks.push(Arc::new(stack));
            }
            sink.absorb(found);
        }
        for stack in &stacks {
            let targets = Arc::clone(&document.meta.targets);
            linker.facts.push(InstalledStack { stack: Arc::clone(stack), targets });
        }
        linker.facts.push(ForeignDocuments { origins: read.documents, policy: document.meta.clone() });
        Some(Box::new(Linked { meta: document.meta.clone(), stacks }))
    }

    fn check_together(linker: &Linker<'_>, is_whole: bool, sink: &mut Sink) {
        weigh::weigh_stacks(linker, is_whole, sink);
    }
}

const TEMPLATES: Templates = Templates {
    service_account: "stack/serviceaccount.yaml.j2",
    role: "stack/role.yaml.j2",
    cluster_role: "stack/clusterrole.yaml.j2",
    role_binding: "stack/rolebinding.yaml.j2",
    cluster_role_binding: "stack/clusterrolebinding.yaml.j2",
};

/// Reports request kinds and fields of other revisions.
fn check_revision(spec: &StackSpec, document: &RawDocument<'_>, sink: &mut Sink) {
    let known = Requested::known_to(spec.revision);
    for install in spec.installs.iter().filter(|install| !known.contains(&install.kind)) {
        let [one, other] = known;
        sink.push(
            Diagnostic::error(
                codes::INVALID_VALUE,
                format!("`revision: {}` does not have {}", spec.revision.name(), install.kind.as_str()),
            )
            .at(install_origin(install, document))
            .help(format!("use {} or {}, or another revision", one.as_str(), other.as_str())),
        );
    }
    if let Some(image) = spec.image.as_ref().filter(|image| Image::parse(image, Reader::V2).is_none()) {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, format!("`{}` is not an image reference", image.value))
                .at(image.origin)
                .help("write registry, repository and tag: `registry.example.org/acme/blog:v1.0.0`"),
        );
    }
    let means_nothing = [
        ("verbs", spec.revision.is_rbac_manager(), "remove the field: the RBAC manager decides the verbs of each role"),
        (
            "allowedPermissions",
            spec.revision != ManagerRevision::RbacManagerV1,
            "remove the field, or set `revision: rbac-manager-v1`: only Crossplane v1 checks permission requests",
        ),
    ];
    for (field, without_meaning, help) in means_nothing {
        if let Some((key, _)) = document.spec.entry(field).filter(|_| without_meaning) {
            let message = format!("`{field}` has no effect with `revision: {}`", spec.revision.name());
            sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(key.origin()).help(help));
        }
    }
}

/// Returns the first line of an install, as its location in diagnostics.
fn install_origin(install: &Spanned<InstallSpec>, document: &RawDocument<'_>) -> Origin {
    let installs = document.spec.get("installs").into_iter().flat_map(bailiwick_yaml::NodeRef::items);
    let own = installs.into_iter().find(|item| item.origin() == install.origin);
    own.and_then(|item| item.get("kind")).map_or(install.origin, bailiwick_yaml::NodeRef::origin)
}

struct Linked {
    meta: PolicyMeta,
    stacks: Vec<Arc<Stack>>,
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn contributions(&self, _: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        for (index, stack) in self.stacks.iter().enumerate() {
            let output_file = OutputFileKey::Namespace(stack.install.namespace.as_str().into());
            visit(output_file, Contribution::try_from(index).unwrap_or_default());
        }
    }

    fn expand(&self, _: &Target, _: &OutputFileKey, part: Contribution, units: &mut Vec<Unit>) {
        let Some(stack) = self.stacks.get(part as usize) else { return };
        units.extend(stack.objects().iter().map(|object| {
            // The content of a role comes from the package, its subjects from the install.
            let is_role = matches!(object.content, ObjectContent::Role(_));
            let content = if is_role { stack.package.scope_origin } else { stack.install.origin };
            TEMPLATES.unit(object, stack.install.origin, content)
        }));
    }
}
