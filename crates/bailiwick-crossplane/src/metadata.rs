//! The file `crossplane.yaml` of packages since Crossplane v1 (`apis/pkg/meta/v1`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::package::RequestedRule;
use bailiwick_yaml::Spanned;

/// What a package says of itself.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Metadata {
    /// The version of the file's format, of `meta.pkg.crossplane.io`.
    pub api_version: Spanned<String>,
    /// What it is.
    pub kind: Spanned<PackageKind>,
    /// Its name, with labels and annotations.
    pub metadata: ObjectMetadata,
    /// What it brings and needs.
    #[serde(default)]
    pub spec: MetadataSpec,
}

/// What a package is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum PackageKind {
    /// Definitions and the controllers for them.
    Provider,
    /// Composite resources.
    Configuration,
}

/// The name of a package.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectMetadata {
    /// Name of the object metadata.
    pub name: String,
    /// Its labels; `pkg.crossplane.io/provider-family` claims a family.
    #[serde(default)]
    pub labels: BTreeMap<String, Spanned<String>>,
    /// Annotations of the object metadata.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// What a package brings and needs.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MetadataSpec {
    /// The controller of a provider.
    #[serde(default)]
    pub controller: Controller,
    /// What it is able to do, such as `safe-start`.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// The versions of Crossplane that it fits.
    #[serde(default)]
    pub crossplane: Option<Constraint>,
    /// Packages that it needs.
    #[serde(default)]
    pub depends_on: Vec<PackageDependency>,
}

/// A controller.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Controller {
    /// Its image, where that is not the package's own.
    #[serde(default)]
    pub image: Option<String>,
    /// What it asks for beyond its definitions; Crossplane v1 alone.
    #[serde(default)]
    pub permission_requests: Vec<Spanned<RequestedRule>>,
}

/// A range of versions.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// Such as `>=v1.14.0`.
    pub version: String,
}

/// A package that is needed.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PackageDependency {
    /// The image of a provider.
    #[serde(default)]
    pub provider: Option<String>,
    /// The image of a configuration.
    #[serde(default)]
    pub configuration: Option<String>,
    /// The image of a function.
    #[serde(default)]
    pub function: Option<String>,
    /// The API version of any other package.
    #[serde(default)]
    pub api_version: Option<String>,
    /// The kind of any other package.
    #[serde(default)]
    pub kind: Option<String>,
    /// The image of any other package.
    #[serde(default)]
    pub package: Option<String>,
    /// Versions of the package dependency.
    pub version: String,
}
