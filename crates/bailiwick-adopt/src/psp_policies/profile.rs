//! A PodSecurityPolicy as the spec of a PodSecurityProfile.

use bailiwick_admission::psp::{IdStrategy, PodSecurityPolicy, PspIdRange, Spec, Syscalls};
use serde_json::{Map, Value, json};

use super::escaped;

/// Builds the spec of a profile equal to this policy, without its labels and without annotations unrelated to profiles.
pub(super) fn spec(policy: &PodSecurityPolicy) -> Value {
    let spec = &policy.spec;
    let mut fields = Fields(Map::new());
    fields.flag("privileged", spec.privileged);
    fields.flag("hostNetwork", spec.host_network);
    fields.flag("hostPID", spec.host_pid);
    fields.flag("hostIPC", spec.host_ipc);
    fields.list("hostPorts", ranges(spec.host_ports.as_deref().unwrap_or_default()));
    fields.add("allowPrivilegeEscalation", spec.allow_privilege_escalation.into());
    if let Some(default) = spec.default_allow_privilege_escalation {
        fields.add("defaultAllowPrivilegeEscalation", default.into());
    }
    fields.flag("readOnlyRootFilesystem", spec.read_only_root_filesystem);
    fields.map("capabilities", capabilities(spec));
    fields.texts("volumes", spec.volumes.as_deref());
    let paths = spec.allowed_host_paths.iter().flatten().map(|path| {
        let mut entry = Fields(Map::new());
        entry.add("pathPrefix", escaped(&path.path_prefix).into());
        entry.flag("readOnly", path.read_only);
        Value::Object(entry.0)
    });
    fields.list("hostPaths", paths.collect());
    fields.add("runAsUser", strategy(&spec.run_as_user));
    if let Some(group) = &spec.run_as_group {
        fields.add("runAsGroup", strategy(group));
    }
    fields.add("fsGroup", strategy(&spec.fs_group));
    fields.add("supplementalGroups", strategy(&spec.supplemental_groups));
    fields.add("seLinux", se_linux(spec));
    syscalls(policy, &mut fields);
    let mut sysctls = Fields(Map::new());
    sysctls.texts("allowedUnsafe", spec.allowed_unsafe_sysctls.as_deref());
    sysctls.texts("forbidden", spec.forbidden_sysctls.as_deref());
    fields.map("sysctls", sysctls);
    let drivers = spec.allowed_flex_volumes.iter().flatten().map(|flex| escaped(&flex.driver).into());
    fields.list("flexVolumeDrivers", drivers.collect());
    let drivers = spec.allowed_csi_drivers.iter().flatten().map(|csi| escaped(&csi.name).into());
    fields.list("csiDrivers", drivers.collect());
    fields.texts("procMountTypes", spec.allowed_proc_mount_types.as_deref());
    if let Some(classes) = &spec.runtime_class {
        let mut entry = Fields(Map::new());
        entry.add("allowed", texts(&classes.allowed_runtime_class_names));
        if let Some(default) = &classes.default_runtime_class_name {
            entry.add("default", escaped(default).into());
        }
        fields.map("runtimeClasses", entry);
    }
    Value::Object(fields.0)
}

/// Fields of a map, in output order.
struct Fields(Map<String, Value>);

impl Fields {
    fn add(&mut self, key: &str, value: Value) {
        self.0.insert(key.to_owned(), value);
    }

    fn flag(&mut self, key: &str, is_set: bool) {
        if is_set {
            self.add(key, true.into());
        }
    }

    fn list(&mut self, key: &str, items: Vec<Value>) {
        if !items.is_empty() {
            self.add(key, items.into());
        }
    }

    fn texts(&mut self, key: &str, list: Option<&[String]>) {
        if let Some(list) = list.filter(|list| !list.is_empty()) {
            self.add(key, texts(list));
        }
    }

    fn map(&mut self, key: &str, fields: Fields) {
        if !fields.0.is_empty() {
            self.add(key, Value::Object(fields.0));
        }
    }
}

fn texts(list: &[String]) -> Value {
    list.iter().map(|text| escaped(text)).collect()
}

fn capabilities(spec: &Spec) -> Fields {
    let mut fields = Fields(Map::new());
    fields.texts("allowed", spec.allowed_capabilities.as_deref());
    fields.texts("defaultAdd", Some(&spec.default_add_capabilities));
    fields.texts("requiredDrop", Some(&spec.required_drop_capabilities));
    fields
}

fn ranges(ranges: &[PspIdRange]) -> Vec<Value> {
    ranges.iter().map(|range| json!({ "min": range.min, "max": range.max })).collect()
}

fn strategy(strategy: &IdStrategy) -> Value {
    let mut fields = Fields(Map::new());
    fields.add("rule", strategy.rule.as_str().into());
    fields.list("ranges", ranges(&strategy.ranges));
    Value::Object(fields.0)
}

fn se_linux(spec: &Spec) -> Value {
    let mut fields = Fields(Map::new());
    fields.add("rule", spec.se_linux.rule.as_str().into());
    if let Some(options) = &spec.se_linux.se_linux_options {
        let mut context = Fields(Map::new());
        let parts =
            [("user", &options.user), ("role", &options.role), ("type", &options.r#type), ("level", &options.level)];
        for (key, value) in parts.into_iter().filter(|(_, value)| !value.is_empty()) {
            context.add(key, escaped(value).into());
        }
        fields.map("seLinuxOptions", context);
    }
    Value::Object(fields.0)
}

/// Converts the annotations with syscall profiles.
fn syscalls(policy: &PodSecurityPolicy, fields: &mut Fields) {
    let seccomp = policy.seccomp();
    match (seccomp.allowed, seccomp.default) {
        (None, None) => {}
        // Without a list, and with a forbidden default, only the annotation can express the policy.
        (None, Some(default)) => {
            let key = "seccomp.security.alpha.kubernetes.io/defaultProfileName";
            fields.add("annotations", json!({ key: escaped(default) }));
        }
        (Some(list), default) => fields.add("seccomp", profiles(list.split(','), default)),
    }
    let app_armor = policy.app_armor();
    match app_armor {
        Syscalls { allowed: None, default: None } => {}
        Syscalls { allowed: None, default } => fields.add("appArmor", profiles(["*"].into_iter(), default)),
        // AppArmor has no wildcard: a star is the name of a profile without users.
        Syscalls { allowed: Some(list), default } => {
            fields.add("appArmor", profiles(list.split(',').filter(|name| *name != "*"), default));
        }
    }
}

fn profiles<'n>(allowed: impl Iterator<Item = &'n str>, default: Option<&str>) -> Value {
    let mut fields = Fields(Map::new());
    let mut names: Vec<String> = allowed.map(profile_name).collect();
    if names == [""] {
        names.clear();
    }
    fields.add("allowed", names.into());
    if let Some(default) = default {
        fields.add("default", profile_name(default).into());
    }
    Value::Object(fields.0)
}

/// Converts the name of a profile to its spelling in pods; the annotations are older.
fn profile_name(annotation: &str) -> String {
    match annotation {
        "runtime/default" => "RuntimeDefault".to_owned(),
        "docker/default" => "DockerDefault".to_owned(),
        "unconfined" => "Unconfined".to_owned(),
        other => other
            .strip_prefix("localhost/")
            .map_or_else(|| escaped(other), |path| format!("Localhost/{}", escaped(path))),
    }
}
