//! Names of templates, and the templates of a workspace.

use std::collections::BTreeSet;
use std::sync::Arc;

/// The name of a template: its path below the template folder, such as `grant/rolebinding.yaml.j2`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TemplateName {
    /// A built-in template, or its replacement in the workspace.
    BuiltIn(&'static str),
    /// A template of the workspace for an item of `objects`.
    Own(Arc<str>),
}

impl TemplateName {
    /// Whether a policy names the template.
    pub fn is_own(&self) -> bool {
        matches!(self, TemplateName::Own(_))
    }

    /// Copies the name without shared parts, see [`super::TenancyPolicy::detached`].
    #[must_use]
    pub fn detached(&self) -> Self {
        match self {
            TemplateName::BuiltIn(name) => TemplateName::BuiltIn(name),
            TemplateName::Own(name) => TemplateName::Own(Arc::from(&**name)),
        }
    }
}

impl From<&'static str> for TemplateName {
    fn from(name: &'static str) -> Self {
        TemplateName::BuiltIn(name)
    }
}

impl std::ops::Deref for TemplateName {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            TemplateName::BuiltIn(name) => name,
            TemplateName::Own(name) => name,
        }
    }
}

impl std::fmt::Display for TemplateName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self)
    }
}

/// The templates of a workspace, by their paths below the template folder.
#[derive(Debug, Default)]
pub struct WorkspaceTemplates {
    /// The template folder, below the root of the workspace.
    pub folder: String,
    /// The templates in the folder that replace no built-in template.
    pub own: BTreeSet<String>,
    /// The paths of the templates of the program.
    pub built_in: BTreeSet<&'static str>,
    /// The templates of items of `objects`.
    pub named: BTreeSet<String>,
}
