//! The default policy of a version of Kubernetes.

use bailiwick_codes as codes;
use bailiwick_kubernetes::catalogue::{FIRST_MINOR, LAST_MINOR};
use bailiwick_kubernetes::default_policy;
use bailiwick_workspace::workspace::find_files;
use bailiwick_workspace::{Diagnostics, Error, Options, Workspace};
use bailiwick_yaml as yaml;
use bailiwick_yaml::diag::{Diagnostic, Sink};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::loaded_world::version_of;

/// The objects that the API server of a version makes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DefaultPolicy {
    /// The minor version of Kubernetes.
    pub minor: u32,
    /// The roles and bindings.
    pub objects: Vec<Value>,
    /// The warnings about the version.
    #[serde(skip)]
    pub diagnostics: Diagnostics,
}

impl DefaultPolicy {
    /// Returns the default policy of a version, such as `1.30`.
    ///
    /// # Errors
    /// When no facts are known about the version.
    pub fn of_version(version: &str) -> Result<Self, Error> {
        let mut sink = Sink::new();
        let Some(minor) = version_of(version, &mut sink) else {
            let message = format!("`{version}` is no version of Kubernetes with known facts");
            let help = format!("name one from 1.{FIRST_MINOR} to 1.{LAST_MINOR}");
            return Err(Error::invalid(Diagnostic::error(codes::UNKNOWN_VERSION, message).help(help)));
        };
        let mut policy = Self::of_minor(minor.min(LAST_MINOR));
        policy.diagnostics.list = sink.into_sorted(&policy.diagnostics.files);
        Ok(policy)
    }

    /// Returns the default policy of the first target with one of the names; without a workspace, of the newest version.
    ///
    /// # Errors
    /// When the workspace cannot be opened, or has no target with one of the names.
    pub fn of_workspace(options: &Options, targets: &[String]) -> Result<Self, Error> {
        if find_files(options)?.is_none() {
            return Ok(Self::of_minor(LAST_MINOR));
        }
        let workspace = Workspace::open(options)?;
        let minor = workspace.targets(targets)?.first().map_or(LAST_MINOR, |target| target.version.minor());
        Ok(Self::of_minor(minor))
    }

    fn of_minor(minor: u32) -> Self {
        let objects = default_policy::objects(minor).map(|object| {
            let mut object = yaml::schema::to_json(object);
            object.as_object_mut().map(|map| map.shift_remove("minors"));
            object
        });
        Self { minor, objects: objects.collect(), diagnostics: Diagnostics::default() }
    }
}
