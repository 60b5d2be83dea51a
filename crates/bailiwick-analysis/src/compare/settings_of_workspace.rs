//! Changed settings of the comparison, the admission and the application in `bailiwick.yaml`. No object of the output shows them.

use std::collections::BTreeSet;

use bailiwick_admission::standards::configuration::Exemptions;
use bailiwick_policy::model::{Target, WorkspaceSettings};

use super::delivery_settings;
use super::gate::few;

/// One difference of two workspace files.
pub struct SettingChange {
    /// The name of the target; none for the whole workspace.
    pub target: Option<String>,
    /// The field with both values, such as `` `spec.output` changes from `out` to `out2` ``.
    pub words: String,
}

/// Returns every change with its target. A new target and a removed one are not compared.
pub fn all(old: &WorkspaceSettings, new: &WorkspaceSettings) -> Vec<SettingChange> {
    let of_workspace = changes(old, new).into_iter().map(|words| SettingChange { target: None, words });
    let mut all: Vec<SettingChange> = of_workspace.collect();
    for target in &new.targets {
        let Some(before) = old.targets.iter().find(|before| before.name == target.name) else { continue };
        let of_delivery = before.delivery.as_ref().map(|_| delivery_settings::of_target(before, target, [None, None]));
        let lines = of_pod_security(before, target).into_iter().chain(of_delivery.into_iter().flatten());
        all.extend(lines.map(|words| SettingChange { target: Some(target.name.clone()), words }));
    }
    all
}

/// Describes the changes of the folders, of the files that are not judged, and of the requirements, one line each.
pub(super) fn changes(old: &WorkspaceSettings, new: &WorkspaceSettings) -> Vec<String> {
    let mut lines = Vec::new();
    let listed = |globs: &[String]| globs.iter().map(|glob| format!("`{glob}`")).collect::<Vec<_>>().join(", ");
    if old.output != new.output {
        lines.push(format!("`spec.output` changes from `{}` to `{}`", old.output, new.output));
    }
    lines.extend(delivery_settings::folder_change(old, new));
    if old.kept != new.kept {
        lines.push(format!("`spec.keep` changes from [{}] to [{}]", listed(&old.kept), listed(&new.kept)));
    }
    if old.fixture_globs != new.fixture_globs {
        let (old, new) = (listed(&old.fixture_globs), listed(&new.fixture_globs));
        lines.push(format!("`spec.fixtures` changes from [{old}] to [{new}]"));
    }
    let accepted = |settings: &WorkspaceSettings| -> BTreeSet<String> {
        settings.accepted_objects.iter().map(ToString::to_string).collect()
    };
    let new_entries = &accepted(new) - &accepted(old);
    lines.extend(new_entries.iter().map(|entry| format!("`spec.drift.accept` accepts `{entry}`")));
    let words = |settings: &WorkspaceSettings| -> BTreeSet<String> {
        settings.requirements.iter().map(|requirement| requirement.words.clone()).collect()
    };
    let gone = &words(old) - &words(new);
    lines.extend(gone.iter().map(|requirement| format!("`spec.requirements` loses the entry {requirement}")));
    lines
}

/// Describes the changes of the statements about Pod Security in the API server of a target, one line each. A Namespace without
/// labels has the level of the defaults, and no pod of an exemption is checked.
pub(super) fn of_pod_security(old: &Target, new: &Target) -> Vec<String> {
    let mut lines = Vec::new();
    let (before, after) = (&old.pod_security, &new.pod_security);
    if before.defaults.enforce != after.defaults.enforce {
        lines.push(format!(
            "`podSecurity.defaults.enforce` changes from `{}` to `{}`, a statement about the API server",
            before.defaults.enforce, after.defaults.enforce
        ));
    }
    lines.extend(new_exemptions(&before.exemptions, &after.exemptions));
    lines
}

/// Describes a stage with less enforcement, one line each. A review compares the admission of pods by the stages.
pub(super) fn of_stage(old: &Target, new: &Target) -> Vec<String> {
    let mut lines = Vec::new();
    let (before, after) = (&old.pod_security_stage, &new.pod_security_stage);
    if before.denies() && !after.denies() {
        lines.push("its PodSecurityProfiles reject no pod any more: `validationActions` has no `Deny`".to_owned());
    }
    if before.enforces() && !after.enforces() {
        lines.push("its Pod Security levels reject no pod any more: `modes` has no `enforce`".to_owned());
    }
    lines
}

fn new_exemptions(old: &Exemptions, new: &Exemptions) -> Vec<String> {
    let lists = [
        ("usernames", &old.usernames, &new.usernames),
        ("namespaces", &old.namespaces, &new.namespaces),
        ("runtimeClasses", &old.runtime_classes, &new.runtime_classes),
    ];
    let mut lines = Vec::new();
    for (field, before, after) in lists {
        let added: Vec<&str> = after.iter().filter(|name| !before.contains(name)).map(String::as_str).collect();
        if !added.is_empty() {
            lines.push(format!("`podSecurity.exemptions.{field}` adds {}", few("", &added)));
        }
    }
    lines
}
