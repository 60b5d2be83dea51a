//! A package of the Stack Manager: `app.yaml` and the definitions beside it (`pkg/stacks/unpack.go` of Crossplane
//! v0.9).

use crate::codes;
use bailiwick_kubernetes::absent;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::controller::Controller;
use super::definition::Definition;
use super::dependency::{Dependency, is_custom_group, warn_of};
use super::image::{Image, Reader};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};

/// The file `app.yaml` of a package (`AppMetadataSpec` of `apis/stacks/v1alpha1`).
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct App {
    /// The version of the file's format.
    #[serde(default)]
    pub api_version: Option<String>,
    /// The package's name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// One line about it.
    #[serde(default)]
    pub overview_short: Option<String>,
    /// A paragraph about it.
    #[serde(default)]
    pub overview: Option<String>,
    /// A page about it.
    #[serde(default)]
    pub readme: Option<String>,
    /// Its version. Default: the tag of its image.
    #[serde(default)]
    pub version: Option<Spanned<String>>,
    /// Pictures.
    #[serde(default)]
    pub icons: Vec<Icon>,
    /// People with access to the source.
    #[serde(default)]
    pub maintainers: Vec<Contributor>,
    /// People with the right to decide.
    #[serde(default)]
    pub owners: Vec<Contributor>,
    /// The company behind it.
    #[serde(default)]
    pub company: Option<String>,
    /// The category in a list.
    #[serde(default)]
    pub category: Option<String>,
    /// Words to find it by.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// The web site.
    #[serde(default)]
    pub website: Option<String>,
    /// The source code.
    #[serde(default)]
    pub source: Option<String>,
    /// Its licence.
    #[serde(default)]
    pub license: Option<String>,
    /// The dependencies on other packages.
    #[serde(default)]
    pub depends_on: Vec<DependsOn>,
    /// `Application`, `Stack`, `Addon` or another word.
    #[serde(default)]
    pub package_type: Option<String>,
    /// The scope: `Cluster` or `Namespaced`.
    #[serde(default)]
    pub permission_scope: Option<Spanned<String>>,
    /// Single permissions, as before the design; only permissions common to every stack are accepted.
    #[serde(default)]
    pub permissions: Option<Permissions>,
}

/// A picture.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Icon {
    /// The picture itself.
    #[serde(rename = "base64Data")]
    pub base64_data: String,
    /// Its media type.
    pub mediatype: String,
}

/// A person.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contributor {
    /// Their name.
    #[serde(default)]
    pub name: Option<String>,
    /// Their address.
    #[serde(default)]
    pub email: Option<String>,
}

/// A dependency of a package.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DependsOn {
    /// A definition: `<plural or *>.<group>[/<version>]`.
    #[serde(default)]
    pub crd: Option<Spanned<String>>,
    /// The package of the dependency.
    #[serde(default)]
    pub package: Option<String>,
    /// The registry of the package.
    #[serde(default)]
    pub source: Option<String>,
}

/// Requests for single permissions.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permissions {
    /// RBAC rules.
    #[serde(default)]
    pub rules: Vec<RequestedRule>,
}

/// A rule in the form of RBAC.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RequestedRule {
    /// Groups such as `apps`; empty for the core group.
    #[serde(default)]
    pub api_groups: Vec<Spanned<String>>,
    /// Names in the plural.
    #[serde(default)]
    pub resources: Vec<Spanned<String>>,
    /// Names of objects.
    #[serde(default)]
    pub resource_names: Vec<String>,
    /// Paths outside of resources.
    #[serde(default, rename = "nonResourceURLs")]
    pub non_resource_urls: Vec<Spanned<String>>,
    /// Permitted actions.
    #[serde(default)]
    pub verbs: Vec<String>,
}

impl RequestedRule {
    /// Returns the rule without its places.
    pub fn policy_rule(&self) -> PolicyRule {
        let plain = |list: &[Spanned<String>]| list.iter().map(|text| text.value.clone()).collect();
        PolicyRule {
            api_groups: plain(&self.api_groups),
            resources: plain(&self.resources),
            resource_names: self.resource_names.clone(),
            non_resource_urls: plain(&self.non_resource_urls),
            verbs: self.verbs.clone(),
        }
    }
}

/// The core kinds of every stack.
pub const CORE_RESOURCES: [&str; 3] = ["configmaps", "events", "secrets"];

/// The extent of the permissions of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackScope {
    /// In its own namespace.
    Namespaced,
    /// In the whole cluster.
    Cluster,
}

impl StackScope {
    /// Returns the word of `app.yaml`.
    pub fn name(self) -> &'static str {
        match self {
            StackScope::Namespaced => "Namespaced",
            StackScope::Cluster => "Cluster",
        }
    }
}

/// A parsed package.
#[derive(Debug, Clone)]
pub struct Package {
    /// Its title; empty if absent.
    pub title: String,
    /// Its version, or the tag of its image.
    pub version: Option<String>,
    /// The image of the package, if known.
    pub image: Option<String>,
    /// The cluster or a namespace.
    pub scope: StackScope,
    /// The location of the scope.
    pub scope_origin: Origin,
    /// The dependencies on other packages, in the order of `app.yaml`.
    pub dependencies: Vec<Dependency>,
    /// The owned definitions, in the order of the files.
    pub definitions: Vec<Definition>,
    /// The controllers of its `install.yaml`.
    pub controllers: Vec<Controller>,
}

impl Package {
    /// Returns a package from its parts; `place` is the beginning of `app.yaml`. None when it is refused; why is then
    /// in the sink.
    pub fn new(
        app: &App,
        definitions: Vec<Definition>,
        image: Option<&str>,
        place: Origin,
        sink: &mut Sink,
    ) -> Option<Self> {
        let mut found = Sink::new();
        let scope = permission_scope(app, place, &mut found);
        check_permissions(app, &mut found);
        check_doubles(&definitions, &mut found);
        definitions.iter().for_each(|own| warn_of(&own.group, &own.plural, own.origin, "brings", &mut found));
        let dependencies =
            app.depends_on.iter().filter_map(|wanted| Dependency::read(wanted.crd.as_ref()?, &mut found)).collect();
        let is_refused = found.has_errors();
        sink.absorb(found);
        let (scope, scope_origin) = scope.filter(|_| !is_refused)?;
        let tag = || image.and_then(|image| Image::parse(image, Reader::V2)).and_then(|image| image.tag);
        let version = app.version.as_ref().map(|version| version.value.clone()).filter(|version| !version.is_empty());
        Some(Self {
            title: absent::text(app.title.as_deref()).to_owned(),
            version: version.or_else(tag),
            image: image.map(str::to_owned),
            scope,
            scope_origin,
            dependencies,
            definitions,
            controllers: Vec::new(),
        })
    }

    /// Whether another is the same package, possibly of another version: by its image, its title, or its definitions.
    pub fn is_kin(&self, other: &Package) -> bool {
        if let (Some(own), Some(others)) = (self.repository(), other.repository()) {
            return own == others;
        }
        (!self.title.is_empty() && self.title == other.title)
            || self.definitions.iter().any(|own| other.definitions.iter().any(|others| others.name == own.name))
    }

    /// Returns registry and repository of its image, if known.
    pub fn repository(&self) -> Option<(String, String)> {
        let image = Image::parse(self.image.as_deref()?, Reader::V2)?;
        Some((image.registry, image.repository))
    }

    /// Returns the version for people.
    pub fn shown_version(&self) -> &str {
        self.version.as_deref().unwrap_or("without a version")
    }
}

fn permission_scope(app: &App, place: Origin, sink: &mut Sink) -> Option<(StackScope, Origin)> {
    const HELP: &str = "set `permissionScope` to `Namespaced`, or to `Cluster` for all namespaces";
    let Some(written) = &app.permission_scope else {
        sink.push(Diagnostic::error(codes::PERMISSION_SCOPE_MISSING, "the package has no scope").at(place).help(HELP));
        return None;
    };
    match written.as_str() {
        "Namespaced" => Some((StackScope::Namespaced, written.origin)),
        "Cluster" => Some((StackScope::Cluster, written.origin)),
        other => {
            sink.push(
                Diagnostic::error(codes::PERMISSION_SCOPE_INVALID, format!("`{other}` is not a scope of a package"))
                    .at(written.origin)
                    .help(HELP),
            );
            None
        }
    }
}

/// Rejects requests for single permissions, except for permissions common to every stack.
fn check_permissions(app: &App, sink: &mut Sink) {
    for rule in app.permissions.iter().flat_map(|permissions| &permissions.rules) {
        for url in &rule.non_resource_urls {
            sink.push(disallowed(format!("the package requests the URL `{}`", url.value), url.origin));
        }
        for group in &rule.api_groups {
            for resource in &rule.resources {
                let is_core = group.is_empty() && CORE_RESOURCES.contains(&resource.as_str());
                let name = if group.is_empty() {
                    resource.value.clone()
                } else {
                    format!("{}.{}", resource.value, group.value)
                };
                if is_custom_group(group) {
                    sink.push(
                        Diagnostic::error(
                            codes::DISALLOWED_CORE_KIND,
                            format!("the package requests `{name}` by a rule"),
                        )
                        .at(resource.origin)
                        .help(format!(
                            "list a used definition under `dependsOn`: `crd: {name}`; owned definitions need no rule"
                        )),
                    );
                } else if !is_core {
                    sink.push(disallowed(format!("the package requests `{name}`"), resource.origin));
                }
            }
        }
    }
}

fn disallowed(message: String, origin: Origin) -> Diagnostic {
    Diagnostic::error(codes::DISALLOWED_CORE_KIND, message).at(origin).help(format!(
        "remove the rule: a stack has only {} of Kubernetes, and its owned and used definitions",
        CORE_RESOURCES.map(|name| format!("`{name}`")).join(", ")
    ))
}

/// Reports definitions that a package brings twice.
fn check_doubles(definitions: &[Definition], sink: &mut Sink) {
    let mut known: BTreeMap<&str, Origin> = BTreeMap::new();
    for definition in definitions {
        if let Some(first) = known.insert(&definition.name, definition.origin) {
            sink.push(
                Diagnostic::error(
                    bailiwick_kubernetes::codes::DUPLICATE_OBJECT,
                    format!("the package contains `{}` twice", definition.name),
                )
                .at(definition.origin)
                .and(first, "the first one")
                .help("keep one of them: the second would overwrite the first"),
            );
        }
    }
}
