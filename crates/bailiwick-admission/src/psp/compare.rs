//! The effect of a change of a policy: new permissions of pods, lost permissions, and changes of form.
//!
//! Fields are compared by their effect: a path below an allowed path is no change, and paths have no effect without
//! hostPath volumes. Defaults are listed separately, because they neither allow nor forbid.

mod ids;
mod volumes;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use self::ids::{Allowed, Ids};
use super::strategies::{covers, is_same_level};
use super::{IdStrategy, PodSecurityPolicy, PspIdRange, PspSeLinuxStrategy, Spec, Syscalls};
use super::{entries, shown};

/// The effect of a change, each list in order. An entry is the field and its change.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PspComparison {
    /// New permissions of pods.
    pub widened: Vec<String>,
    /// Lost permissions of pods.
    pub narrowed: Vec<String>,
    /// Changed defaults for pods.
    pub defaults: Vec<String>,
    /// Changes of form without an effect.
    pub unchanged_meaning: Vec<String>,
}

impl PspComparison {
    /// Whether there is no relevant change.
    pub fn is_empty(&self) -> bool {
        self.is_same() && self.unchanged_meaning.is_empty()
    }

    /// Whether the two mean the same for every pod.
    pub fn is_same(&self) -> bool {
        self.widened.is_empty() && self.narrowed.is_empty() && self.defaults.is_empty()
    }

    fn change(&mut self, widens: bool, text: String) {
        if widens { &mut self.widened } else { &mut self.narrowed }.push(text);
    }

    fn default_of<T: PartialEq + std::fmt::Display>(&mut self, field: &str, old: Option<T>, new: Option<T>) {
        if old != new {
            let text = |value: Option<T>| value.map_or_else(|| "absent".to_owned(), |value| value.to_string());
            self.defaults.push(format!("{field} {} -> {}", text(old), text(new)));
        }
    }
}

/// Compares two states of a policy.
pub fn compare(old: &PodSecurityPolicy, new: &PodSecurityPolicy) -> PspComparison {
    let mut found = PspComparison::default();
    let (before, after) = (&old.spec, &new.spec);
    switches(before, after, &mut found);
    capabilities(before, after, &mut found);
    volumes::compare(before, after, &mut found);
    host_ports(before, after, &mut found);
    ids(before, after, &mut found);
    se_linux(&before.se_linux, &after.se_linux, &mut found);
    sysctls(before, after, &mut found);
    proc_mounts(before, after, &mut found);
    runtime_classes(before, after, &mut found);
    seccomp(&old.seccomp(), &new.seccomp(), &mut found);
    app_armor(&old.app_armor(), &new.app_armor(), &mut found);
    for list in [&mut found.widened, &mut found.narrowed, &mut found.defaults, &mut found.unchanged_meaning] {
        list.sort();
        list.dedup();
    }
    found
}

fn switches(old: &Spec, new: &Spec, found: &mut PspComparison) {
    let switches = [
        ("privileged", old.privileged, new.privileged, true),
        ("hostNetwork", old.host_network, new.host_network, true),
        ("hostPID", old.host_pid, new.host_pid, true),
        ("hostIPC", old.host_ipc, new.host_ipc, true),
        ("allowPrivilegeEscalation", old.allow_privilege_escalation, new.allow_privilege_escalation, true),
        ("readOnlyRootFilesystem", old.read_only_root_filesystem, new.read_only_root_filesystem, false),
    ];
    for (field, before, after, true_widens) in switches.into_iter().filter(|(_, before, after, _)| before != after) {
        // A privileged container that must not escalate is invalid.
        let is_idle = field == "privileged" && !(if after { new } else { old }).allow_privilege_escalation;
        match is_idle {
            true => {
                found.unchanged_meaning.push(format!("{field} {before} -> {after}, without allowPrivilegeEscalation"))
            }
            false => found.change(after == true_widens, format!("{field} {before} -> {after}")),
        }
    }
    let field = "defaultAllowPrivilegeEscalation";
    found.default_of(field, old.default_allow_privilege_escalation, new.default_allow_privilege_escalation);
}

/// Adds a change of form between an empty and an absent list.
fn respelled<T>(field: &str, old: Option<&Vec<T>>, new: Option<&Vec<T>>, found: &mut PspComparison) {
    match (old, new) {
        (Some(list), None) if list.is_empty() => found.unchanged_meaning.push(format!("{field} [] -> absent")),
        (None, Some(list)) if list.is_empty() => found.unchanged_meaning.push(format!("{field} absent -> []")),
        _ => {}
    }
}

/// Compares two sets of names, with `*` for all names.
fn names(field: &str, old: &BTreeSet<&str>, new: &BTreeSet<&str>, found: &mut PspComparison) {
    let has_all = |set: &BTreeSet<&str>| set.contains("*");
    for name in new.difference(old) {
        if has_all(old) {
            found.unchanged_meaning.push(format!("{field} +{name}, beside *"));
        } else {
            found.widened.push(format!("{field} +{name}"));
        }
    }
    for name in old.difference(new) {
        if has_all(new) {
            found.unchanged_meaning.push(format!("{field} -{name}, beside *"));
        } else {
            found.narrowed.push(format!("{field} -{name}"));
        }
    }
}

fn set(list: &[String]) -> BTreeSet<&str> {
    list.iter().map(String::as_str).collect()
}

fn capabilities(old: &Spec, new: &Spec, found: &mut PspComparison) {
    respelled("allowedCapabilities", old.allowed_capabilities.as_ref(), new.allowed_capabilities.as_ref(), found);
    // A default is allowed as well.
    let allowed = |spec: &Spec| -> BTreeSet<String> {
        let listed = entries(spec.allowed_capabilities.as_ref()).iter();
        listed.chain(&spec.default_add_capabilities).cloned().collect()
    };
    let (before, after) = (allowed(old), allowed(new));
    names("allowedCapabilities", &borrowed(&before), &borrowed(&after), found);
    let (before, after) = (set(&old.default_add_capabilities), set(&new.default_add_capabilities));
    found.defaults.extend(after.difference(&before).map(|name| format!("defaultAddCapabilities +{name}")));
    found.defaults.extend(before.difference(&after).map(|name| format!("defaultAddCapabilities -{name}")));
    // Pods drop them by default, and may do less.
    let (before, after) = (set(&old.required_drop_capabilities), set(&new.required_drop_capabilities));
    found.narrowed.extend(after.difference(&before).map(|name| format!("requiredDropCapabilities +{name}")));
    found.widened.extend(before.difference(&after).map(|name| format!("requiredDropCapabilities -{name}")));
}

fn borrowed(set: &BTreeSet<String>) -> BTreeSet<&str> {
    set.iter().map(String::as_str).collect()
}

fn host_ports(old: &Spec, new: &Spec, found: &mut PspComparison) {
    respelled("hostPorts", old.host_ports.as_ref(), new.host_ports.as_ref(), found);
    let (before, after) = (entries(old.host_ports.as_ref()), entries(new.host_ports.as_ref()));
    let (set_before, set_after) = (Ids::new(before), Ids::new(after));
    let text = |sign: char| move |range: PspIdRange| format!("hostPorts {sign}{range}");
    found.widened.extend(set_after.without(&set_before).into_iter().map(text('+')));
    found.narrowed.extend(set_before.without(&set_after).into_iter().map(text('-')));
    if before != after && set_before == set_after {
        found.unchanged_meaning.push(format!("hostPorts {} -> {}", shown(before), shown(after)));
    }
}

fn ids(old: &Spec, new: &Spec, found: &mut PspComparison) {
    let fields = [
        ("runAsUser", Some(&old.run_as_user), Some(&new.run_as_user)),
        ("runAsGroup", old.run_as_group.as_ref(), new.run_as_group.as_ref()),
        ("fsGroup", Some(&old.fs_group), Some(&new.fs_group)),
        ("supplementalGroups", Some(&old.supplemental_groups), Some(&new.supplemental_groups)),
    ];
    for (field, before, after) in fields.into_iter().filter(|(_, before, after)| before != after) {
        let (had, has) = (Allowed::by(before), Allowed::by(after));
        let text = |strategy: Option<&IdStrategy>| match strategy {
            None => "absent".to_owned(),
            Some(strategy) if strategy.ranges.is_empty() => strategy.rule.clone(),
            Some(strategy) => format!("{} {}", strategy.rule, shown(&strategy.ranges)),
        };
        let change = format!("{field} {} -> {}", text(before), text(after));
        match (has.has_all(&had), had.has_all(&has)) {
            (true, true) => found.unchanged_meaning.push(change),
            (true, false) => found.widened.push(change),
            (false, true) => found.narrowed.push(change),
            // Both changes form one entry.
            (false, false) => {
                let (more, less) = (has.ids.without(&had.ids), had.ids.without(&has.ids));
                let what = |sign, ranges: &[PspIdRange], silent| match ranges {
                    [] => format!("{field} {sign}{silent}"),
                    ranges => format!("{field} {sign}{}", shown(ranges)),
                };
                found.widened.push(what('+', &more, "unset"));
                found.narrowed.push(what('-', &less, "unset"));
            }
        }
        found.default_of(&format!("{field} default"), had.default, has.default);
    }
}

fn se_linux(old: &PspSeLinuxStrategy, new: &PspSeLinuxStrategy, found: &mut PspComparison) {
    if old == new {
        return;
    }
    let text = |strategy: &PspSeLinuxStrategy| match &strategy.se_linux_options {
        Some(options) if strategy.rule == "MustRunAs" => {
            let parts = [&options.user, &options.role, &options.r#type, &options.level];
            format!("MustRunAs {}", parts.map(String::as_str).join(":"))
        }
        _ => strategy.rule.clone(),
    };
    let change = format!("seLinux {} -> {}", text(old), text(new));
    match (old.rule.as_str(), new.rule.as_str()) {
        ("RunAsAny", "RunAsAny") => found.unchanged_meaning.push(change),
        ("RunAsAny", _) => found.narrowed.push(change),
        (_, "RunAsAny") => found.widened.push(change),
        _ => {
            let is_same = match (&old.se_linux_options, &new.se_linux_options) {
                (Some(old), Some(new)) => {
                    (&old.user, &old.role, &old.r#type) == (&new.user, &new.role, &new.r#type)
                        && is_same_level(&old.level, &new.level)
                }
                _ => false,
            };
            if is_same {
                found.unchanged_meaning.push(change);
            } else {
                found.widened.push(change.clone());
                found.narrowed.push(change);
            }
        }
    }
}

fn sysctls(old: &Spec, new: &Spec, found: &mut PspComparison) {
    let lists = [
        ("allowedUnsafeSysctls", &old.allowed_unsafe_sysctls, &new.allowed_unsafe_sysctls, true),
        ("forbiddenSysctls", &old.forbidden_sysctls, &new.forbidden_sysctls, false),
    ];
    for (field, before, after, more_widens) in lists {
        respelled(field, before.as_ref(), after.as_ref(), found);
        let (before, after) = (entries(before.as_ref()), entries(after.as_ref()));
        let is_covered = |name: &String, by: &[String]| by.iter().any(|by| covers(by, name));
        for name in after.iter().filter(|name| !before.contains(name)) {
            match (is_covered(name, before), more_widens && is_covered(name, entries(new.forbidden_sysctls.as_ref()))) {
                (true, _) => found.unchanged_meaning.push(format!("{field} +{name}, covered before")),
                (_, true) => found.unchanged_meaning.push(format!("{field} +{name}, forbidden")),
                _ => found.change(more_widens, format!("{field} +{name}")),
            }
        }
        for name in before.iter().filter(|name| !after.contains(name)) {
            match (is_covered(name, after), more_widens && is_covered(name, entries(old.forbidden_sysctls.as_ref()))) {
                (true, _) => found.unchanged_meaning.push(format!("{field} -{name}, still covered")),
                (_, true) => found.unchanged_meaning.push(format!("{field} -{name}, forbidden")),
                _ => found.change(!more_widens, format!("{field} -{name}")),
            }
        }
    }
}

fn proc_mounts(old: &Spec, new: &Spec, found: &mut PspComparison) {
    let field = "allowedProcMountTypes";
    respelled(field, old.allowed_proc_mount_types.as_ref(), new.allowed_proc_mount_types.as_ref(), found);
    let (before, after) =
        (entries(old.allowed_proc_mount_types.as_ref()), entries(new.allowed_proc_mount_types.as_ref()));
    let kinds = |list: &[String]| -> BTreeSet<String> {
        if list.is_empty() { BTreeSet::from(["Default".to_owned()]) } else { list.iter().cloned().collect() }
    };
    let (allowed_before, allowed_after) = (kinds(before), kinds(after));
    names(field, &borrowed(&allowed_before), &borrowed(&allowed_after), found);
    if before.is_empty() != after.is_empty() && allowed_before == allowed_after {
        found.unchanged_meaning.push(format!("{field}, as by default"));
    }
}

fn runtime_classes(old: &Spec, new: &Spec, found: &mut PspComparison) {
    let names_of = |spec: &Spec| -> BTreeSet<String> {
        match &spec.runtime_class {
            None => BTreeSet::from(["*".to_owned()]),
            Some(classes) => classes.allowed_runtime_class_names.iter().cloned().collect(),
        }
    };
    names("runtimeClass", &borrowed(&names_of(old)), &borrowed(&names_of(new)), found);
    let default = |spec: &Spec| spec.runtime_class.as_ref().and_then(|class| class.default_runtime_class_name.clone());
    found.default_of("defaultRuntimeClassName", default(old), default(new));
}

fn seccomp(old: &Syscalls<'_>, new: &Syscalls<'_>, found: &mut PspComparison) {
    // Pods go without a profile in the absence of the annotation, and with an empty entry in it.
    let profiles = |profiles: &Syscalls<'_>| -> BTreeSet<String> {
        let unset = profiles.allowed.is_none().then_some("");
        let is_default = |name: &str| matches!(name, "docker/default" | "runtime/default");
        let listed = profiles.names().map(|name| if is_default(name) { "runtime/default" } else { name });
        listed.chain(unset).map(unset_by_name).map(str::to_owned).collect()
    };
    names("seccomp", &borrowed(&profiles(old)), &borrowed(&profiles(new)), found);
    found.default_of("seccomp default", old.default, new.default);
}

fn app_armor(old: &Syscalls<'_>, new: &Syscalls<'_>, found: &mut PspComparison) {
    // Without the annotation everything goes; with it a profile has to be set, and an empty entry changes nothing.
    let profiles = |profiles: &Syscalls<'_>| -> BTreeSet<String> {
        let any = profiles.allowed.is_none().then_some("*");
        profiles.names().filter(|name| !name.is_empty()).chain(any).map(str::to_owned).collect()
    };
    names("appArmor", &borrowed(&profiles(old)), &borrowed(&profiles(new)), found);
    found.default_of("appArmor default", old.default, new.default);
}

fn unset_by_name(name: &str) -> &str {
    if name.is_empty() { "unset" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    fn policy(spec: &str) -> PodSecurityPolicy {
        let tree = yaml::read(&format!("spec: {spec}"), FileId::default(), &mut Sink::new());
        PodSecurityPolicy::read(tree.document(0).expect("a document")).expect("a policy")
    }

    #[track_caller]
    fn check(old: &str, new: &str, widened: &[&str], narrowed: &[&str]) -> PspComparison {
        let found = compare(&policy(old), &policy(new));
        assert_eq!(found.widened, widened, "widened by {old} -> {new}");
        assert_eq!(found.narrowed, narrowed, "narrowed by {old} -> {new}");
        found
    }

    #[test]
    fn switches_have_a_direction() {
        check("{privileged: true}", "{hostPID: true}", &["hostPID false -> true"], &["privileged true -> false"]);
        check("{}", "{readOnlyRootFilesystem: true}", &[], &["readOnlyRootFilesystem false -> true"]);
        check("{}", "{allowPrivilegeEscalation: false}", &[], &["allowPrivilegeEscalation true -> false"]);
        let confined = |privileged: bool| format!("{{allowPrivilegeEscalation: false, privileged: {privileged}}}");
        let found = check(&confined(false), &confined(true), &[], &[]);
        assert_eq!(found.unchanged_meaning, ["privileged false -> true, without allowPrivilegeEscalation"]);
    }

    #[test]
    fn a_field_without_an_effect_beside_another_is_no_change() {
        let unsafe_names =
            |forbidden: &str| format!("{{allowedUnsafeSysctls: [kernel.msgmax], forbiddenSysctls: ['{forbidden}']}}");
        check("{forbiddenSysctls: ['kernel.*']}", &unsafe_names("kernel.*"), &[], &[]);
        check("{forbiddenSysctls: ['net.*']}", &unsafe_names("net.*"), &["allowedUnsafeSysctls +kernel.msgmax"], &[]);
    }

    #[test]
    fn host_paths_are_compared_by_what_they_reach() {
        let paths = |volumes: &str, list: &str| format!("{{volumes: [{volumes}], allowedHostPaths: {list}}}");
        let data = "[{pathPrefix: /data}]";
        let below = "[{pathPrefix: /data}, {pathPrefix: /data/project}]";
        let found = check(&paths("hostPath", data), &paths("hostPath", below), &[], &[]);
        assert_eq!(found.unchanged_meaning, ["hostPath +/data/project rw, covered before"]);
        check(
            &paths("hostPath", data),
            &paths("hostPath", "[{pathPrefix: /data, readOnly: true}]"),
            &[],
            &["hostPath /data rw -> ro"],
        );
        check(&paths("hostPath", data), &paths("hostPath", "[]"), &["hostPath +/ rw"], &[]);
        let found = check(&paths("secret", data), &paths("secret", below), &[], &[]);
        assert_eq!(found.unchanged_meaning, ["allowedHostPaths, which has no effect"]);
        check(
            &paths("secret", data),
            &paths("secret, hostPath", data),
            &["hostPath +/data rw", "volumes +hostPath"],
            &[],
        );
    }

    #[test]
    fn strategies_are_compared_as_sets() {
        let users = |strategy: &str| format!("{{runAsUser: {strategy}}}");
        let one = "{rule: MustRunAs, ranges: [{min: 1, max: 9}]}";
        let split = "{rule: MustRunAs, ranges: [{min: 1, max: 4}, {min: 5, max: 9}]}";
        assert!(check(&users(one), &users(split), &[], &[]).is_same());
        let change = "runAsUser MustRunAs 1-9 -> MustRunAsNonRoot";
        check(&users(one), &users("{rule: MustRunAsNonRoot}"), &[change], &[]);
        let other = "{rule: MustRunAs, ranges: [{min: 5, max: 12}]}";
        let found = check(&users(one), &users(other), &["runAsUser +10-12"], &["runAsUser -1-4"]);
        assert_eq!(found.defaults, ["runAsUser default 1 -> 5"]);
        let groups = |rule: &str| format!("{{fsGroup: {{rule: {rule}, ranges: [{{min: 1, max: 9}}]}}}}");
        check(&groups("MustRunAs"), &groups("MayRunAs"), &["fsGroup MustRunAs 1-9 -> MayRunAs 1-9"], &[]);
        check("{}", "{runAsGroup: {rule: RunAsAny}}", &[], &[]);
    }

    #[test]
    fn empty_lists_mean_what_their_absence_means() {
        for field in ["volumes", "hostPorts", "allowedUnsafeSysctls", "forbiddenSysctls", "allowedProcMountTypes"] {
            let found = check("{}", &format!("{{{field}: []}}"), &[], &[]);
            assert_eq!(found.unchanged_meaning, [format!("{field} absent -> []")]);
        }
        check("{}", "{hostPorts: [{min: 8000, max: 8080}]}", &["hostPorts +8000-8080"], &[]);
        check("{forbiddenSysctls: ['kernel.*']}", "{}", &["forbiddenSysctls -kernel.*"], &[]);
        check("{}", "{runtimeClass: {allowedRuntimeClassNames: [kata]}}", &[], &["runtimeClass -*"]);
    }
}
