//! The migration of a policy to Pod Security. Some limits are kept by the Pod Security level of its namespaces, some
//! need an admission policy, and defaults for pods are lost.
//!
//! The level is the strictest one without a rejection of a pod admitted by the policy, by the mapping of the
//! documentation. For most real policies it is privileged and keeps nothing. Running pods have the defaults filled in:
//! only their templates show the missing values.

mod fates;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::admit::PspProvider;
use super::mapping::{Reading, map};
use super::profiles::{APP_ARMOR_CONTAINER, SECCOMP_POD, annotation_of};
use super::strategies::UnusablePolicy;
use super::{PodSecurityPolicy, Spec};
use crate::level::Level;
use crate::pod::{Container, Pod, SecurityContext};

/// The migration of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// The level for the namespaces with pods under the policy.
    pub level: Level,
    /// The outcome of each effective field, in the order of the API reference.
    pub fields: Vec<FieldMigration>,
    /// The fields with defaults, and their values.
    pub mutating: Vec<PspDefault>,
}

/// The outcome of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldMigration {
    /// Its name; annotations with their whole key.
    pub field: &'static str,
    /// The outcome.
    pub fate: FieldOutcome,
}

/// The outcome of a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldOutcome {
    /// It limits nothing.
    Unlimited,
    /// The level limits as much, or more.
    KeptByLevel,
    /// An admission policy can limit it, to this.
    NeedsPolicy(String),
    /// A default rather than a limit: pods have to set the value themselves.
    FilledIn,
    /// It has no effect, and why.
    NoEffect(String),
    /// It is lost, and why.
    Dropped(String),
}

/// A default of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PspDefault {
    /// The field of the policy.
    pub field: &'static str,
    /// The value for pods or containers.
    pub what: String,
}

/// A default in the result of admission for a pod.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Filled {
    /// The field of the pod.
    pub field: String,
    /// The value; for capabilities the whole list.
    pub value: Value,
}

impl Migration {
    /// Returns the limits for an admission policy.
    pub fn for_policy(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.fields.iter().filter_map(|field| match &field.fate {
            FieldOutcome::NeedsPolicy(limit) => Some((field.field, limit.as_str())),
            _ => None,
        })
    }
}

/// Returns the migration of a policy, with the level of one reading of the mapping.
pub fn migrate(policy: &PodSecurityPolicy, reading: Reading) -> Migration {
    migrate_to_level(policy, map(policy, reading).level)
}

/// Returns the migration of a policy whose namespaces have a level.
pub fn migrate_to_level(policy: &PodSecurityPolicy, level: Level) -> Migration {
    Migration { level, fields: fates::all(policy, level), mutating: fillings(policy) }
}

/// Returns the defaults of a policy: `MayRunAs` has none.
pub fn fillings(policy: &PodSecurityPolicy) -> Vec<PspDefault> {
    let spec = &policy.spec;
    let mut found = Vec::new();
    let mut add = |field, what: Option<String>| found.extend(what.map(|what| PspDefault { field, what }));
    let listed = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
    add("defaultAddCapabilities", listed(&spec.default_add_capabilities).map(|names| format!("added: {names}")));
    add("requiredDropCapabilities", listed(&spec.required_drop_capabilities).map(|names| format!("dropped: {names}")));
    let context = spec.se_linux.se_linux_options.as_ref().filter(|_| spec.se_linux.rule == "MustRunAs");
    add("seLinux", context.map(|_| "the SELinux context".to_owned()));
    add("runAsUser", user_filling(spec));
    let groups = [
        ("runAsGroup", spec.run_as_group.as_ref()),
        ("supplementalGroups", Some(&spec.supplemental_groups)),
        ("fsGroup", Some(&spec.fs_group)),
    ];
    for (field, strategy) in groups {
        let strategy = strategy.filter(|strategy| strategy.rule == "MustRunAs");
        let first = strategy.and_then(|strategy| strategy.ranges.first());
        add(field, first.map(|range| format!("group {}", range.min)));
    }
    add("readOnlyRootFilesystem", spec.read_only_root_filesystem.then(|| "true".to_owned()));
    let default = spec.default_allow_privilege_escalation;
    add("defaultAllowPrivilegeEscalation", default.map(|may| may.to_string()));
    let escalation = !spec.allow_privilege_escalation && default.is_none();
    add("allowPrivilegeEscalation", escalation.then(|| "false".to_owned()));
    let class = spec.runtime_class.as_ref().and_then(|class| class.default_runtime_class_name.clone());
    add("runtimeClass", class);
    add(fates::SECCOMP_DEFAULT, policy.seccomp().default.map(str::to_owned));
    add(fates::APP_ARMOR_DEFAULT, policy.app_armor().default.map(str::to_owned));
    found
}

fn user_filling(spec: &Spec) -> Option<String> {
    let strategy = &spec.run_as_user;
    match strategy.rule.as_str() {
        "MustRunAs" => strategy.ranges.first().map(|range| format!("user {}", range.min)),
        "MustRunAsNonRoot" => Some("`runAsNonRoot: true` where no user is given".to_owned()),
        _ => None,
    }
}

/// Returns the defaults needed by a pod: each value filled in by the policy. The list is empty for a complete pod.
///
/// # Errors
/// Why the policy cannot be used.
pub fn relied_on(policy: &PodSecurityPolicy, pod: &Pod) -> Result<Vec<Filled>, UnusablePolicy> {
    Ok(differences(pod, &PspProvider::new(policy)?.admit(pod).pod))
}

/// Returns the values that a pod has after admission and did not have before.
pub(super) fn differences(before: &Pod, after: &Pod) -> Vec<Filled> {
    let mut found = Differences(Vec::new());
    found.pod(before, after);
    let lists = [
        ("initContainers", &before.spec.init_containers, &after.spec.init_containers),
        ("containers", &before.spec.containers, &after.spec.containers),
        ("ephemeralContainers", &before.spec.ephemeral_containers, &after.spec.ephemeral_containers),
    ];
    for (list, before, after) in lists {
        for (index, (before, after)) in before.iter().zip(after).enumerate() {
            found.container(&format!("spec.{list}[{index}].securityContext"), before, after);
        }
    }
    found.app_armor(before, after);
    found.0
}

struct Differences(Vec<Filled>);

impl Differences {
    fn compare<T: PartialEq + Serialize>(&mut self, field: impl Into<String>, before: &Option<T>, after: &Option<T>) {
        if let Some(value) = after.as_ref().filter(|_| before != after) {
            self.0.push(Filled { field: field.into(), value: json!(value) });
        }
    }

    fn pod(&mut self, before: &Pod, after: &Pod) {
        let (old, new) = (before.security_context(), after.security_context());
        let place = |field: &str| format!("spec.securityContext.{field}");
        self.compare(place("supplementalGroups"), &old.supplemental_groups, &new.supplemental_groups);
        self.compare(place("fsGroup"), &old.fs_group, &new.fs_group);
        self.compare(place("seLinuxOptions"), &old.se_linux_options, &new.se_linux_options);
        self.compare("spec.runtimeClassName", &before.spec.runtime_class_name, &after.spec.runtime_class_name);
        // The annotation derived from the field by every policy is no change.
        let said = |pod: &Pod| {
            let field = pod.spec.security_context.as_ref().and_then(|context| context.seccomp_profile.as_ref());
            pod.metadata.annotations.get(SECCOMP_POD).cloned().or_else(|| field.map(annotation_of))
        };
        self.compare(format!("metadata.annotations[{SECCOMP_POD}]"), &said(before), &said(after));
    }

    fn container(&mut self, place: &str, before: &Container, after: &Container) {
        let (old, new) = (before.security_context(), after.security_context());
        let place = |field: &str| format!("{place}.{field}");
        self.compare(place("runAsUser"), &old.run_as_user, &new.run_as_user);
        self.compare(place("runAsGroup"), &old.run_as_group, &new.run_as_group);
        self.compare(place("runAsNonRoot"), &old.run_as_non_root, &new.run_as_non_root);
        self.compare(place("seLinuxOptions"), &old.se_linux_options, &new.se_linux_options);
        let root = (old.read_only_root_filesystem, new.read_only_root_filesystem);
        self.compare(place("readOnlyRootFilesystem"), &root.0, &root.1);
        let escalation = (old.allow_privilege_escalation, new.allow_privilege_escalation);
        self.compare(place("allowPrivilegeEscalation"), &escalation.0, &escalation.1);
        let lists = |context: &SecurityContext| {
            let Some(given) = context.capabilities.clone() else { return (None, None) };
            let sorted = |mut names: Vec<String>| {
                names.sort();
                names.dedup();
                Some(names).filter(|names| !names.is_empty())
            };
            (sorted(given.add), sorted(given.drop))
        };
        let ((old_add, old_drop), (new_add, new_drop)) = (lists(old), lists(new));
        self.compare(place("capabilities.add"), &old_add, &new_add);
        self.compare(place("capabilities.drop"), &old_drop, &new_drop);
    }

    fn app_armor(&mut self, before: &Pod, after: &Pod) {
        for (key, value) in &after.metadata.annotations {
            if key.starts_with(APP_ARMOR_CONTAINER) && before.metadata.annotations.get(key) != Some(value) {
                self.0.push(Filled { field: format!("metadata.annotations[{key}]"), value: json!(value) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    const TOOL: &str = r#"
metadata:
  name: tool
  annotations:
    seccomp.security.alpha.kubernetes.io/allowedProfileNames: runtime/default
    seccomp.security.alpha.kubernetes.io/defaultProfileName: runtime/default
spec:
  allowPrivilegeEscalation: false
  requiredDropCapabilities: [ALL]
  runAsUser: {rule: MustRunAs, ranges: [{min: 1002, max: 1002}]}
  runAsGroup: {rule: MustRunAs, ranges: [{min: 1002, max: 1002}]}
  fsGroup: {rule: MayRunAs, ranges: [{min: 1002, max: 1002}]}
  supplementalGroups: {rule: MustRunAs, ranges: [{min: 1, max: 65535}]}
  seLinux: {rule: RunAsAny}
  volumes: [secret]
  allowedHostPaths: [{pathPrefix: /data}]
"#;

    fn policy(text: &str) -> PodSecurityPolicy {
        let tree = yaml::read(text, FileId::default(), &mut Sink::new());
        PodSecurityPolicy::read(tree.document(0).expect("a document")).expect("a policy")
    }

    fn pod(text: &str) -> Pod {
        let tree = yaml::read(text, FileId::default(), &mut Sink::new());
        Pod::read(tree.document(0).expect("a document")).expect("a pod")
    }

    fn fate<'m>(migration: &'m Migration, field: &str) -> &'m FieldOutcome {
        &migration.fields.iter().find(|found| found.field == field).expect("the field is reported").fate
    }

    #[test]
    fn a_level_keeps_what_it_can_and_a_policy_the_rest() {
        let migration = migrate(&policy(TOOL), Reading::SeLinuxIgnored);
        assert_eq!(migration.level, Level::Baseline);
        assert_eq!(fate(&migration, "privileged"), &FieldOutcome::KeptByLevel);
        assert_eq!(fate(&migration, "runAsUser"), &FieldOutcome::NeedsPolicy("one of 1002".to_owned()));
        assert_eq!(fate(&migration, "volumes"), &FieldOutcome::NeedsPolicy("only secret".to_owned()));
        assert_eq!(fate(&migration, "seLinux"), &FieldOutcome::Unlimited);
        assert!(matches!(fate(&migration, "allowPrivilegeEscalation"), FieldOutcome::NeedsPolicy(_)));
        assert!(matches!(fate(&migration, "allowedHostPaths"), FieldOutcome::NoEffect(_)));
        assert_eq!(fate(&migration, fates::SECCOMP_DEFAULT), &FieldOutcome::FilledIn);
        // With SELinux the level is privileged and keeps nothing.
        let migration = migrate(&policy(TOOL), Reading::Practical);
        assert_eq!(fate(&migration, "privileged"), &FieldOutcome::NeedsPolicy("false".to_owned()));
        assert!(migration.fields.iter().all(|field| field.fate != FieldOutcome::KeptByLevel));
    }

    #[test]
    fn what_is_filled_in_is_told_exactly() {
        let fields: Vec<_> = fillings(&policy(TOOL)).into_iter().map(|filling| filling.field).collect();
        let expected = [
            "requiredDropCapabilities",
            "runAsUser",
            "runAsGroup",
            "supplementalGroups",
            "allowPrivilegeEscalation",
            fates::SECCOMP_DEFAULT,
        ];
        assert_eq!(fields, expected, "and not fsGroup, whose rule is MayRunAs");
    }

    #[test]
    fn a_pod_relies_on_what_it_does_not_say() {
        let silent = relied_on(&policy(TOOL), &pod("spec: {containers: [{name: c}]}")).expect("usable");
        let fields: Vec<_> = silent.iter().map(|filled| filled.field.as_str()).collect();
        let context = "spec.containers[0].securityContext";
        let seccomp = format!("metadata.annotations[{SECCOMP_POD}]");
        let own = |field: &str| format!("{context}.{field}");
        let expected = [
            "spec.securityContext.supplementalGroups".to_owned(),
            seccomp,
            own("runAsUser"),
            own("runAsGroup"),
            own("allowPrivilegeEscalation"),
            own("capabilities.drop"),
        ];
        assert_eq!(fields, expected);
        let explicit = "spec: {securityContext: {supplementalGroups: [5], seccompProfile: {type: RuntimeDefault}, \
                        runAsUser: 1002, runAsGroup: 1002}, containers: [{name: c, securityContext: \
                        {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}";
        assert_eq!(relied_on(&policy(TOOL), &pod(explicit)), Ok(Vec::new()));
    }
}
