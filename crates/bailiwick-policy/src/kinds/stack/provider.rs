//! Packages of Crossplane v1 and later, with roles by the RBAC manager.

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_crossplane::definition::{Definition, DefinitionNames};
use bailiwick_crossplane::dependency::warn_of;
use bailiwick_crossplane::gate;
use bailiwick_crossplane::metadata::{PackageKind, PackageMetadata};
use bailiwick_crossplane::object::ServiceAccountName;
use bailiwick_crossplane::package::RequestedRule;
use bailiwick_crossplane::provider::{Composite, Provider, is_family};
use bailiwick_crossplane::revision::ManagerRevision;
use bailiwick_kubernetes::catalogue::{Resource, read_custom};
use bailiwick_kubernetes::names;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use bailiwick_yaml::{NodeRef, Spanned};

use super::folder::{files_of, only_document, tree_of, typed};
use super::{Requested, StackSpec, TEMPLATES, install_origin};
use crate::kinds::BuiltInSchema;
use crate::model::{
    Contribution, DependentPolicy, ForeignDocuments, InstalledProvider, Linker, OutputFileKey, Policy, PolicyMeta,
    RawDocument, Surroundings, Target, Unit,
};

/// The label with the family of a provider.
const FAMILY: &str = "pkg.crossplane.io/provider-family";

/// Crossplane kinds in a package beside definitions; they get no roles.
const OTHER_KINDS: [&str; 6] = [
    "Composition",
    "ManagedResourceActivationPolicy",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "Operation",
    "CronOperation",
];

/// The content of a package folder with `crossplane.yaml`.
#[derive(Default)]
struct Contents {
    meta: Option<PackageMetadata>,
    meta_origin: Option<Origin>,
    /// The names of the provider's definitions.
    definitions: Vec<String>,
    composites: Vec<Composite>,
    custom: Vec<Resource>,
    documents: Vec<Origin>,
}

pub(super) fn link(
    document: &RawDocument<'_>,
    spec: &StackSpec,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Option<Box<dyn Policy>> {
    let mut found = Sink::new();
    let contents = read(document, spec, linker, &mut found);
    let is_refused = found.has_errors();
    sink.absorb(found);
    let contents = contents?;
    linker.bring(&document.meta.targets, &contents.custom);
    let (meta, content) = (contents.meta.filter(|_| !is_refused)?, contents.meta_origin?);
    check_installs(spec, document, sink);
    check_kind(&meta, content, &contents.definitions, &contents.composites, sink);
    check_requested_kind(&meta, spec, document, sink);
    check_requests(&meta, spec, sink);
    let providers = match *meta.kind {
        PackageKind::Provider => providers(&meta, &contents.definitions, spec, document, sink),
        PackageKind::Configuration => Vec::new(),
    };
    providers.iter().for_each(|member| linker.facts.push(member.installed.clone()));
    linker.facts.push(ForeignDocuments { origins: contents.documents, policy: document.meta.clone() });
    Some(Box::new(Linked {
        meta: document.meta.clone(),
        revision: spec.revision,
        providers,
        composites: contents.composites,
        content,
    }))
}

/// Checks that the definitions of a package fit its kind.
fn check_kind(
    meta: &PackageMetadata,
    origin: Origin,
    definitions: &[String],
    composites: &[Composite],
    sink: &mut Sink,
) {
    let misplaced = match *meta.kind {
        PackageKind::Configuration if !definitions.is_empty() => {
            "a Configuration cannot contain CustomResourceDefinitions"
        }
        PackageKind::Provider if !composites.is_empty() => "a Provider cannot contain CompositeResourceDefinitions",
        _ => return,
    };
    sink.push(
        Diagnostic::error(codes::UNEXPECTED_PACKAGE_FILE, misplaced)
            .at(origin)
            .help("move CustomResourceDefinitions to a Provider, and CompositeResourceDefinitions to a Configuration"),
    );
}

/// Checks that every install requests the kind of the package.
fn check_requested_kind(meta: &PackageMetadata, spec: &StackSpec, document: &RawDocument<'_>, sink: &mut Sink) {
    let wanted = match *meta.kind {
        PackageKind::Provider => Requested::ProviderRevision,
        PackageKind::Configuration => Requested::ConfigurationRevision,
    };
    for install in spec.installs.iter().filter(|install| install.kind != wanted) {
        sink.push(
            Diagnostic::error(codes::SCOPE_MISMATCH, format!("the package is a {}", meta.kind.as_str()))
                .at(install_origin(install, document))
                .and(meta.kind.origin, "declared here")
                .help(format!("request it as a {}", wanted.as_str())),
        );
    }
}

/// Returns the provider of each install.
fn providers(
    meta: &PackageMetadata,
    definitions: &[String],
    spec: &StackSpec,
    document: &RawDocument<'_>,
    sink: &mut Sink,
) -> Vec<Member> {
    let requests: Vec<PolicyRule> =
        meta.spec.controller.permission_requests.iter().map(|rule| rule.policy_rule()).collect();
    let mut providers = Vec::new();
    for install in &spec.installs {
        let name = install.name.clone().unwrap_or_else(|| document.meta.name.to_string());
        let origin = install_origin(install, document);
        if !definitions.is_empty() {
            sink.push(
                Diagnostic::warning(
                    codes::STACK_READS_EVERY_SECRET,
                    format!("the provider `{name}` reads every Secret of the cluster"),
                )
                .at(origin)
                .help("accept it with `metadata.allow`: every provider reads all Secrets"),
            );
        }
        let provider = Arc::new(Provider {
            accounts: vec![ServiceAccountName { namespace: install.namespace.clone(), name: name.clone() }],
            revision_name: name,
            definitions: definitions.to_vec(),
            capabilities: meta.spec.capabilities.clone(),
            permission_requests: requests.clone(),
        });
        let installed = InstalledProvider {
            provider,
            image: spec.image.as_ref().map(|image| image.value.clone()),
            family: meta.metadata.labels.get(FAMILY).cloned(),
            targets: Arc::clone(&document.meta.targets),
        };
        providers.push(Member { installed, origin, family: BTreeMap::new() });
    }
    providers
}

/// The schema of `crossplane.yaml`.
pub(in crate::kinds) static METADATA_SCHEMA: BuiltInSchema =
    BuiltInSchema::of_file::<PackageMetadata>("crossplane.yaml");

fn read(document: &RawDocument<'_>, spec: &StackSpec, linker: &mut Linker<'_>, sink: &mut Sink) -> Option<Contents> {
    let (folder, paths) = files_of(&spec.package, document, linker, sink)?;
    let mut contents = Contents::default();
    let mut has_meta = false;
    for path in &paths {
        let relative = path.strip_prefix(&format!("{folder}/")).unwrap_or(path);
        // Examples are for people: Crossplane leaves them out of the package.
        if relative.starts_with("examples/") {
            continue;
        }
        let tree = tree_of(path, linker, sink)?;
        if relative == "crossplane.yaml" {
            has_meta = true;
            let root = only_document(&tree, relative, sink);
            contents.meta =
                root.and_then(|root| typed(root, &METADATA_SCHEMA, sink)).filter(|meta| check_meta(meta, sink));
            contents.meta_origin = root.map(NodeRef::beginning);
            contents.documents.extend(tree.documents().map(NodeRef::origin));
            continue;
        }
        for root in tree.documents() {
            contents.take(root, relative, sink);
        }
    }
    if !has_meta {
        let is_older = paths.iter().any(|path| path.ends_with("/app.yaml"));
        let help = if is_older {
            "use one of the revisions `1.0` to `v0.11`: a package with `app.yaml` is for the Stack Manager"
        } else {
            "use the folder of `crossplane.yaml`"
        };
        sink.push(
            Diagnostic::error(codes::MISSING_APP_YAML, format!("there is no `{folder}/crossplane.yaml`"))
                .at(spec.package.origin)
                .help(help),
        );
    }
    Some(contents)
}

impl Contents {
    fn take(&mut self, root: NodeRef<'_>, relative: &str, sink: &mut Sink) {
        self.documents.push(root.origin());
        let text = |keys: &[&str]| root.path(keys).and_then(NodeRef::as_str).unwrap_or_default();
        match text(&["kind"]) {
            "CustomResourceDefinition" => {
                if let Some(Definition { name, group, plural, origin, .. }) = Definition::read(root, sink) {
                    warn_of(&group, &plural, origin, "brings", sink);
                    self.definitions.push(name);
                }
                self.custom.extend(read_custom(root));
            }
            "ManagedResourceDefinition" => {
                let names = DefinitionNames::read(root, &["spec", "names", "plural"], sink);
                self.definitions.extend(names.map(|names| names.name));
            }
            "CompositeResourceDefinition" => self.composites.extend(read_composite(root, sink)),
            kind if OTHER_KINDS.contains(&kind) => {}
            kind => {
                let kind = if kind.is_empty() { "no kind" } else { kind };
                sink.push(
                    Diagnostic::error(codes::UNEXPECTED_PACKAGE_FILE, format!("`{relative}` holds {kind}"))
                        .at(root.beginning())
                        .help("keep only definitions, composite resources and compositions in a package; move examples to `examples/`"),
                );
            }
        }
    }
}

/// Checks namespace and name of an install: they become parts of the names of other objects.
fn check_installs(spec: &StackSpec, document: &RawDocument<'_>, sink: &mut Sink) {
    for install in &spec.installs {
        let name = install.name.as_deref().unwrap_or(&document.meta.name);
        let reasons = names::dns_label(&install.namespace).err().or_else(|| names::dns_subdomain(name).err());
        if reasons.is_some() {
            sink.push(
                Diagnostic::error(
                    codes::INVALID_OBJECT,
                    format!("`{}/{name}` is not a valid namespace and name", install.namespace),
                )
                .at(install_origin(install, document))
                .help("lower case letters, digits and `-`, with a letter or digit at both ends"),
            );
        }
    }
}

/// Reads a composite resource, with its claim.
fn read_composite(root: NodeRef<'_>, sink: &mut Sink) -> Option<Composite> {
    let DefinitionNames { name, group, plural, origin } =
        DefinitionNames::read(root, &["spec", "names", "plural"], sink)?;
    let claim_plural = root.path(&["spec", "claimNames", "plural"]).and_then(NodeRef::as_str).map(str::to_owned);
    if let Some(claim) = claim_plural.as_deref().filter(|claim| names::dns_1035_label(claim).is_err()) {
        sink.push(
            Diagnostic::error(codes::INVALID_OBJECT, format!("`{claim}` is not a plural of a resource"))
                .at(root.path(&["spec", "claimNames", "plural"]).map_or(origin, NodeRef::origin))
                .help("correct it: the API server rejects it, and its rules would apply to another resource"),
        );
        return None;
    }
    Some(Composite { name, group, plural, claim_plural })
}

/// Whether the format of the file is a supported one.
fn check_meta(meta: &PackageMetadata, sink: &mut Sink) -> bool {
    let is_known = meta.api_version.starts_with("meta.pkg.crossplane.io/");
    if !is_known {
        sink.push(
            Diagnostic::error(codes::UNKNOWN_KIND, format!("`{}` is not a package format", meta.api_version.value))
                .at(meta.api_version.origin)
                .help("write `meta.pkg.crossplane.io/v1`"),
        );
    }
    is_known
}

fn check_requests(meta: &PackageMetadata, spec: &StackSpec, sink: &mut Sink) {
    let allowed: Vec<PolicyRule> = spec.allowed_permissions.iter().map(RequestedRule::policy_rule).collect();
    for written in &meta.spec.controller.permission_requests {
        if spec.revision == ManagerRevision::RbacManager {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, "Crossplane v2 has no permission requests")
                    .at(written.origin)
                    .help("grant the permissions to the service account of the provider by a Grant, or set `revision: rbac-manager-v1`"),
            );
            continue;
        }
        if let Some(first) = gate::rejected(&allowed, &[written.policy_rule()]).first() {
            let shown = |list: &[String]| list.first().cloned().unwrap_or_default();
            let what = if first.non_resource_urls.is_empty() {
                let (resource, group) = (shown(&first.resources), shown(&first.api_groups));
                let dot = if group.is_empty() { "" } else { "." };
                format!("{} of {resource}{dot}{group}", shown(&first.verbs))
            } else {
                format!("{} of {}", shown(&first.verbs), shown(&first.non_resource_urls))
            };
            sink.push(
                Diagnostic::error(
                    codes::PERMISSION_REQUEST_REJECTED,
                    format!("no rule of `allowedPermissions` allows providers to request {what}"),
                )
                .at(written.origin)
                .help("add the permission to `allowedPermissions`: a provider gets no role after one rejection"),
            );
        }
    }
}

struct Linked {
    meta: PolicyMeta,
    revision: ManagerRevision,
    providers: Vec<Member>,
    composites: Vec<Composite>,
    content: Origin,
}

/// An installed provider, with the definitions of its family on each target.
struct Member {
    installed: InstalledProvider,
    origin: Origin,
    family: BTreeMap<String, Vec<String>>,
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn contributions(&self, _: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        for part in 0..self.providers.len() + self.composites.len() {
            visit(OutputFileKey::Cluster, Contribution::try_from(part).unwrap_or_default());
        }
    }

    fn as_dependent(&mut self) -> Option<&mut dyn DependentPolicy> {
        Some(self)
    }

    fn expand(&self, target: &Target, _: &OutputFileKey, part: Contribution, units: &mut Vec<Unit>) {
        let part = part as usize;
        let (objects, origin) = match self.providers.get(part) {
            Some(member) => {
                let family = member.family.get(&target.name).map(Vec::as_slice).unwrap_or_default();
                (member.installed.provider.objects(self.revision, family), member.origin)
            }
            None => {
                let composite = self.composites.get(part.saturating_sub(self.providers.len()));
                (composite.map(|composite| composite.objects(self.revision)).unwrap_or_default(), self.meta.origin)
            }
        };
        units.extend(objects.iter().map(|object| TEMPLATES.unit(object, origin, self.content)));
    }
}

impl DependentPolicy for Linked {
    fn needs_namespaces(&self) -> bool {
        false
    }

    fn settle(&mut self, surroundings: &mut Surroundings<'_, '_>, sink: &mut Sink) {
        for member in &mut self.providers {
            let own = &member.installed;
            let Some(family) = &own.family else { continue };
            let others = surroundings.linker.facts.all().filter(|other: &&InstalledProvider| {
                let claims = other.family.as_ref().is_some_and(|claimed| claimed.value == family.value);
                claims && other.provider.revision_name != own.provider.revision_name
            });
            for other in others {
                let shared: Vec<&String> = own.targets.intersection(&other.targets).collect();
                if !is_family(self.revision, own.image.as_deref(), other.image.as_deref()) {
                    if !shared.is_empty() {
                        sink.push(stranger(own, family, other));
                    }
                    continue;
                }
                for target in shared {
                    let known = member.family.entry(target.clone()).or_default();
                    known.extend(other.provider.definitions.iter().cloned());
                }
            }
        }
    }
}

fn stranger(own: &InstalledProvider, family: &Spanned<String>, other: &InstalledProvider) -> Diagnostic {
    let shown = |installed: &InstalledProvider| {
        installed.image.clone().map_or_else(|| "no image".to_owned(), |image| format!("`{image}`"))
    };
    Diagnostic::warning(
        codes::FAMILY_OF_ANOTHER,
        format!(
            "`{}` and `{}` have the same family and different organisations",
            own.provider.revision_name, other.provider.revision_name
        ),
    )
    .at(family.origin)
    .note(format!("{} and {}", shown(own), shown(other)))
    .help("set `image` in each Stack to its source; the providers get no permissions on each other's definitions")
    .foldable()
}
