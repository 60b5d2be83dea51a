//! The file `crossplane.yaml` of packages since Crossplane v1 (`apis/pkg/meta/v1`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::package::RequestedRule;
use bailiwick_yaml::Spanned;

/// The contents of `crossplane.yaml`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PackageMetadata {
    /// The version of the file's format, of `meta.pkg.crossplane.io`.
    pub api_version: Spanned<String>,
    /// `Provider` or `Configuration`.
    pub kind: Spanned<PackageKind>,
    /// Its name, with labels and annotations.
    pub metadata: ObjectMetadata,
    /// The contents and the needs.
    #[serde(default)]
    pub spec: MetadataSpec,
}

/// A provider or a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum PackageKind {
    /// Definitions and the controllers for them.
    Provider,
    /// Composite resources.
    Configuration,
}

impl PackageKind {
    /// Returns the kind of the document.
    pub fn as_str(self) -> &'static str {
        match self {
            PackageKind::Provider => "Provider",
            PackageKind::Configuration => "Configuration",
        }
    }
}

/// The name of a package.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectMetadata {
    /// Name in the file.
    pub name: String,
    /// Its labels; `pkg.crossplane.io/provider-family` claims a family.
    #[serde(default)]
    pub labels: BTreeMap<String, Spanned<String>>,
    /// Annotations in the file.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// The contents and the needs of a package.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MetadataSpec {
    /// The controller of a provider.
    #[serde(default)]
    pub controller: ControllerSpec,
    /// The capabilities, such as `safe-start`.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// The matching versions of Crossplane.
    #[serde(default)]
    pub crossplane: Option<Constraint>,
    /// The needed packages.
    #[serde(default)]
    pub depends_on: Vec<PackageDependency>,
}

/// The controller section of a package.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ControllerSpec {
    /// Its image, if different from the package's own.
    #[serde(default)]
    pub image: Option<String>,
    /// Requests beyond its definitions; Crossplane v1 alone.
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

/// A needed package.
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
    /// Constraint on versions.
    pub version: String,
}
