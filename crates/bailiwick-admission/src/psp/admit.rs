//! The mutation of a pod by a policy, and its admission (`pkg/security/podsecuritypolicy/provider.go` of 1.24).

use super::profiles::{self, Seccomp, Syscalls};
use super::strategies::{self, Ids, Report, UnusablePolicy};
use super::{PodSecurityPolicy, PspViolation, Spec, entries, shown, volumes};
use crate::pod::{Container, Pod, PodSecurityContext, SeLinuxOptions, SecurityContext};

/// A usable policy.
#[derive(Debug, Clone)]
pub struct PspProvider<'p> {
    name: &'p str,
    spec: &'p Spec,
    users: Ids<'p>,
    groups: Ids<'p>,
    fs_group: Ids<'p>,
    supplemental_groups: Ids<'p>,
    se_linux: Option<&'p SeLinuxOptions>,
    seccomp: Seccomp<'p>,
    app_armor: Syscalls<'p>,
}

/// The result of admission for a pod.
#[derive(Debug, Clone, PartialEq)]
pub struct Admission {
    /// The pod with the defaults of the policy.
    pub pod: Pod,
    /// Whether these changed it.
    pub is_mutated: bool,
    /// The violations of the policy; empty for an admitted pod.
    pub violations: Vec<PspViolation>,
}

impl<'p> PspProvider<'p> {
    /// Returns the policy ready to be used.
    ///
    /// # Errors
    /// Why it cannot be. The API takes such a policy, and admission passes it over.
    pub fn new(policy: &'p PodSecurityPolicy) -> Result<Self, UnusablePolicy> {
        let spec = &policy.spec;
        let users = Ids::of_users(&spec.run_as_user);
        let groups = spec.run_as_group.as_ref().map_or(Ok(Ids::Any), |group| Ids::of_groups("runAsGroup", group));
        let fs_group = Ids::of_groups("fsGroup", &spec.fs_group);
        let supplemental_groups = Ids::of_groups("supplementalGroups", &spec.supplemental_groups);
        let se_linux = strategies::se_linux(&spec.se_linux);
        match (users, groups, fs_group, supplemental_groups, se_linux) {
            (Ok(users), Ok(groups), Ok(fs_group), Ok(supplemental_groups), Ok(se_linux)) => Ok(Self {
                name: policy.name(),
                spec,
                users,
                groups,
                fs_group,
                supplemental_groups,
                se_linux,
                seccomp: Seccomp::new(policy.seccomp()),
                app_armor: policy.app_armor(),
            }),
            (users, groups, fs_group, supplemental_groups, se_linux) => {
                let problems = [users.err(), groups.err(), se_linux.err(), fs_group.err(), supplemental_groups.err()];
                Err(UnusablePolicy { problems: problems.into_iter().flatten().collect() })
            }
        }
    }

    /// Returns the name of the provider.
    pub fn name(&self) -> &'p str {
        self.name
    }

    /// Fills in the defaults of a pod, and checks the result.
    pub fn admit(&self, pod: &Pod) -> Admission {
        let mut filled = pod.clone();
        self.mutate(&mut filled);
        let violations = self.validate(&filled);
        let is_mutated = !is_same(pod, &filled);
        Admission { pod: filled, is_mutated, violations }
    }

    /// Fills in the defaults of a pod. To do it again changes nothing.
    pub fn mutate(&self, pod: &mut Pod) {
        self.fill_pod(pod);
        // Both are read while the containers change.
        let context = pod.security_context().clone();
        let spec = &mut pod.spec;
        let containers =
            spec.init_containers.iter_mut().chain(&mut spec.containers).chain(&mut spec.ephemeral_containers);
        let mut names = Vec::new();
        for container in containers {
            self.fill_container(&context, container);
            names.push(container.name.clone());
        }
        for name in names {
            profiles::fill_app_armor(&self.app_armor, pod, &name);
        }
    }

    fn fill_pod(&self, pod: &mut Pod) {
        let mut context = pod.security_context().clone();
        if context.supplemental_groups.is_none() {
            context.supplemental_groups = self.supplemental_groups.default().map(|group| vec![group]);
        }
        context.fs_group = context.fs_group.or(self.fs_group.default());
        if context.se_linux_options.is_none() {
            context.se_linux_options = self.se_linux.cloned();
        }
        if context != PodSecurityContext::default() {
            pod.spec.security_context = Some(context);
        }
        self.seccomp.fill(pod);
        if let (Some(classes), None) = (&self.spec.runtime_class, &pod.spec.runtime_class_name) {
            pod.spec.runtime_class_name.clone_from(&classes.default_runtime_class_name);
        }
    }

    fn fill_container(&self, pod: &PodSecurityContext, container: &mut Container) {
        let given = container.security_context.clone();
        let mut context = container.security_context().clone();
        if context.run_as_user.or(pod.run_as_user).is_none() {
            context.run_as_user = self.users.default();
        }
        if context.run_as_group.or(pod.run_as_group).is_none() {
            context.run_as_group = self.groups.default();
        }
        if context.se_linux_options.is_none() && pod.se_linux_options.is_none() {
            context.se_linux_options = self.se_linux.cloned();
        }
        let has_user = context.run_as_user.or(pod.run_as_user).is_some();
        let says_non_root = context.run_as_non_root.or(pod.run_as_non_root).is_some();
        if self.users == Ids::NonRoot && !has_user && !says_non_root {
            context.run_as_non_root = Some(true);
        }
        context.capabilities = strategies::fill_capabilities(self.spec, context.capabilities.as_ref());
        if self.spec.read_only_root_filesystem && context.read_only_root_filesystem.is_none() {
            context.read_only_root_filesystem = Some(true);
        }
        if context.allow_privilege_escalation.is_none() {
            let forbidden = (!self.spec.allow_privilege_escalation).then_some(false);
            context.allow_privilege_escalation = self.spec.default_allow_privilege_escalation.or(forbidden);
        }
        // An absent context stays absent if it would be empty.
        if given.is_some() || context != SecurityContext::default() {
            container.security_context = Some(context);
        }
    }

    /// Checks a pod as it is.
    pub fn validate(&self, pod: &Pod) -> Vec<PspViolation> {
        let mut report = Report { violations: Vec::new() };
        self.check_pod(pod, &mut report);
        volumes::check(self.spec, pod, &mut report);
        self.check_runtime_class(pod, &mut report);
        for (place, container) in containers(pod) {
            self.check_container(pod, container, &place, &mut report);
        }
        report.violations
    }

    fn check_pod(&self, pod: &Pod, report: &mut Report) {
        let context = pod.security_context();
        self.fs_group.check_groups("spec.securityContext.fsGroup", context.fs_group.as_slice(), report);
        let groups = entries(context.supplemental_groups.as_ref());
        self.supplemental_groups.check_groups("spec.securityContext.supplementalGroups", groups, report);
        self.seccomp.check_pod(pod, report);
        if let Some(wanted) = self.se_linux {
            let field = "spec.securityContext.seLinuxOptions";
            strategies::check_se_linux(wanted, context.se_linux_options.as_ref(), field, report);
        }
        let host = [
            ("hostNetwork", pod.spec.host_network, self.spec.host_network, "network"),
            ("hostPID", pod.spec.host_pid, self.spec.host_pid, "processes"),
            ("hostIPC", pod.spec.host_ipc, self.spec.host_ipc, "inter-process communication"),
        ];
        for (field, _, _, what) in host.into_iter().filter(|(_, is_asked, is_allowed, _)| *is_asked && !is_allowed) {
            // The location follows the internal type of the API server, with these fields in the security context.
            report.add(format!("spec.securityContext.{field}"), format!("the node's {what} may not be used"));
        }
        strategies::check_sysctls(self.spec, &context.sysctls, report);
    }

    fn check_runtime_class(&self, pod: &Pod, report: &mut Report) {
        let (Some(classes), Some(name)) = (&self.spec.runtime_class, &pod.spec.runtime_class_name) else { return };
        if !classes.allowed_runtime_class_names.iter().any(|allowed| allowed == "*" || allowed == name) {
            report.add("spec.runtimeClassName", format!("the RuntimeClass `{name}` is not allowed"));
        }
    }

    fn check_container(&self, pod: &Pod, container: &Container, place: &str, report: &mut Report) {
        let (pod_context, context) = (pod.security_context(), container.security_context());
        let field = format!("{place}.securityContext");
        let user = context.run_as_user.or(pod_context.run_as_user);
        let is_non_root = context.run_as_non_root.or(pod_context.run_as_non_root);
        self.users.check_user(&field, user, is_non_root, report);
        let group = context.run_as_group.or(pod_context.run_as_group);
        self.groups.check_groups(&field, group.as_slice(), report);
        if let Some(wanted) = self.se_linux {
            let found = context.se_linux_options.as_ref().or(pod_context.se_linux_options.as_ref());
            strategies::check_se_linux(wanted, found, &format!("{field}.seLinuxOptions"), report);
        }
        profiles::check_app_armor(&self.app_armor, pod, &container.name, report);
        self.seccomp.check_container(pod, container, report);
        if context.privileged == Some(true) && !self.spec.privileged {
            report.add(format!("{field}.privileged"), "privileged containers are not allowed");
        }
        self.check_proc_mount(context, &field, report);
        let capabilities = context.capabilities.as_ref();
        strategies::check_capabilities(self.spec, capabilities, &format!("{field}.capabilities"), report);
        self.check_host_ports(container, place, report);
        if self.spec.read_only_root_filesystem && context.read_only_root_filesystem != Some(true) {
            report.add(format!("{field}.readOnlyRootFilesystem"), "must be true");
        }
        if !self.spec.allow_privilege_escalation && context.allow_privilege_escalation != Some(false) {
            report.add(format!("{field}.allowPrivilegeEscalation"), "must be false");
        }
    }

    fn check_proc_mount(&self, context: &SecurityContext, field: &str, report: &mut Report) {
        let found = context.proc_mount();
        let allowed = entries(self.spec.allowed_proc_mount_types.as_ref());
        let is_allowed = if allowed.is_empty() { found == "Default" } else { allowed.iter().any(|kind| kind == found) };
        if !is_allowed {
            report.add(format!("{field}.procMount"), format!("/proc may not be mounted as `{found}`"));
        }
    }

    fn check_host_ports(&self, container: &Container, place: &str, report: &mut Report) {
        let ranges = entries(self.spec.host_ports.as_ref());
        for port in container.ports.iter().map(|port| port.host_port) {
            if port > 0 && !ranges.iter().any(|range| range.has(i64::from(port))) {
                let allowed = if ranges.is_empty() { "none".to_owned() } else { shown(ranges) };
                let message = format!("the host port {port} is not allowed, of the allowed ones: {allowed}");
                report.add(format!("{place}.hostPort"), message);
            }
        }
    }
}

/// Returns the containers of a pod with their locations, in the order of the checks.
pub(super) fn containers(pod: &Pod) -> impl Iterator<Item = (String, &Container)> {
    let spec = &pod.spec;
    let lists = [
        ("initContainers", &spec.init_containers),
        ("containers", &spec.containers),
        ("ephemeralContainers", &spec.ephemeral_containers),
    ];
    lists.into_iter().flat_map(|(list, containers)| {
        let places = (0..).map(move |index: usize| format!("spec.{list}[{index}]"));
        places.zip(containers)
    })
}

/// Whether no default was filled in. An API server gives every pod a security context; an empty one equals none.
fn is_same(left: &Pod, right: &Pod) -> bool {
    let same_but_context = |pod: &Pod| {
        let mut pod = pod.clone();
        pod.spec.security_context.get_or_insert_default();
        pod
    };
    same_but_context(left) == same_but_context(right)
}
