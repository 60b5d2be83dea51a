//! The checks about the node: namespaces, paths, ports, addresses, processes, kernel parameters, and types of volumes.

use std::collections::BTreeSet;

use super::checks::Finding;
use super::words::{containers, listed, plural, setters};
use crate::pod::{Container, Handler, Pod, VolumeSource, WindowsOptions};
use bailiwick_kubernetes::volumes;

/// The volume sources allowed by restricted.
const ALLOWED_SOURCES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// The kernel parameters allowed to a pod, each with the first minor.
const SYSCTLS: [(u64, &str); 14] = [
    (0, "kernel.shm_rmid_forced"),
    (0, "net.ipv4.ip_local_port_range"),
    (0, "net.ipv4.tcp_syncookies"),
    (0, "net.ipv4.ping_group_range"),
    (0, "net.ipv4.ip_unprivileged_port_start"),
    (27, "net.ipv4.ip_local_reserved_ports"),
    (29, "net.ipv4.tcp_keepalive_time"),
    (29, "net.ipv4.tcp_fin_timeout"),
    (29, "net.ipv4.tcp_keepalive_intvl"),
    (29, "net.ipv4.tcp_keepalive_probes"),
    (32, "net.ipv4.tcp_rmem"),
    (32, "net.ipv4.tcp_wmem"),
    (37, "net.ipv4.tcp_slow_start_after_idle"),
    (37, "net.ipv4.tcp_notsent_lowat"),
];

/// Whether the checks of a minor let a pod set a kernel parameter.
pub(crate) fn allows_sysctl(name: &str, minor: u64) -> bool {
    sysctls(minor).any(|safe| safe == name)
}

/// Iterates over the kernel parameters that the checks of a minor let a pod set.
fn sysctls(minor: u64) -> impl Iterator<Item = &'static str> {
    SYSCTLS.iter().filter(move |(since, _)| *since <= minor).map(|(_, safe)| *safe)
}

/// Checks `hostNamespaces`: none of the three.
pub(super) fn namespaces(pod: &Pod, _: u64) -> Finding {
    let spec = &pod.spec;
    let all = [("hostNetwork", spec.host_network), ("hostPID", spec.host_pid), ("hostIPC", spec.host_ipc)];
    let shared: Vec<String> =
        all.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| format!("{name}=true")).collect();
    (!shared.is_empty()).then(|| ("host namespaces", shared.join(", ")))
}

/// Checks `hostPathVolumes`: none.
pub(super) fn path_volumes(pod: &Pod, _: u64) -> Finding {
    let volumes = pod.spec.volumes.iter().filter(|volume| volume.sources.contains_key("hostPath"));
    let names: Vec<&str> = volumes.map(|volume| volume.name.as_str()).collect();
    let volumes = || format!("{} {}", plural(names.len(), "volume", "volumes"), listed(names.iter().copied()));
    (!names.is_empty()).then(|| ("hostPath volumes", volumes()))
}

/// Checks `hostPorts`: none.
pub(super) fn ports(pod: &Pod, _: u64) -> Finding {
    let mut names = Vec::new();
    // The API server sorts the numbers as text.
    let mut used = BTreeSet::new();
    for container in pod.containers() {
        let mut host_ports = container.ports.iter().map(|port| port.host_port).filter(|port| *port != 0).peekable();
        if host_ports.peek().is_some() {
            names.push(container.name.as_str());
            used.extend(host_ports.map(|port| port.to_string()));
        }
    }
    let numbers: Vec<String> = used.into_iter().collect();
    let detail = || {
        let uses = plural(names.len(), "uses", "use");
        let ports = plural(numbers.len(), "hostPort", "hostPorts");
        format!("{} {uses} {ports} {}", containers(&names), numbers.join(", "))
    };
    (!names.is_empty()).then(|| ("hostPort", detail()))
}

/// Checks `hostProbesAndHostLifecycle`: no probe and no handler with a host.
pub(super) fn probes(pod: &Pod, _: u64) -> Finding {
    let mut names = BTreeSet::new();
    let mut hosts = BTreeSet::new();
    for container in pod.containers() {
        for host in handlers(container).flat_map(named_hosts) {
            names.insert(container.name.as_str());
            hosts.insert(host);
        }
    }
    let names: Vec<&str> = names.into_iter().collect();
    let detail = || {
        let uses = plural(names.len(), "uses", "use");
        let what = plural(hosts.len(), "probe or lifecycle host", "probe or lifecycle hosts");
        format!("{} {uses} {what} {}", containers(&names), listed(hosts.iter().copied()))
    };
    (!names.is_empty()).then(|| ("probe or lifecycle host", detail()))
}

fn handlers(container: &Container) -> impl Iterator<Item = &Handler> {
    let lifecycle = container.lifecycle.iter().flat_map(|lifecycle| [&lifecycle.post_start, &lifecycle.pre_stop]);
    let probes = [&container.liveness_probe, &container.readiness_probe, &container.startup_probe];
    probes.into_iter().chain(lifecycle).flatten()
}

fn named_hosts(handler: &Handler) -> impl Iterator<Item = &str> {
    let actions = handler.http_get.iter().chain(&handler.tcp_socket);
    actions.map(|action| action.host.as_str()).filter(|host| !host.is_empty())
}

/// Checks `sysctls`: only namespaced, safe parameters.
pub(super) fn pod_sysctls(pod: &Pod, minor: u64) -> Finding {
    let set = pod.spec.security_context.iter().flat_map(|context| &context.sysctls);
    let unsafe_ones: Vec<&str> =
        set.map(|sysctl| sysctl.name.as_str()).filter(|name| !allows_sysctl(name, minor)).collect();
    (!unsafe_ones.is_empty()).then(|| ("forbidden sysctls", unsafe_ones.join(", ")))
}

/// Checks `windowsHostProcess`: neither the pod nor a container runs on the node itself.
pub(super) fn processes(pod: &Pod, _: u64) -> Finding {
    let is_set = |options: Option<&WindowsOptions>| options.and_then(|options| options.host_process) == Some(true);
    let of_pod = is_set(pod.spec.security_context.as_ref().and_then(|context| context.windows_options.as_ref()));
    let names = pod.container_names(|container| {
        is_set(container.security_context.as_ref().and_then(|context| context.windows_options.as_ref()))
    });
    let who = setters(of_pod, &names)?;
    Some(("hostProcess", format!("{who} must not set securityContext.windowsOptions.hostProcess=true")))
}

/// Checks `restrictedVolumes`: volumes with data of the cluster, or with a driver chosen by an administrator.
pub(super) fn volume_types(pod: &Pod, _: u64) -> Finding {
    let is_allowed = |(name, _): (&String, &VolumeSource)| ALLOWED_SOURCES.contains(&name.as_str());
    let restricted = pod.spec.volumes.iter().filter(|volume| !volume.sources.iter().any(is_allowed));
    let mut names = Vec::new();
    let mut types = BTreeSet::new();
    for volume in restricted {
        names.push(volume.name.as_str());
        let first = volumes::fields().find(|name| volume.sources.contains_key(*name));
        types.insert(first.unwrap_or("unknown"));
    }
    let detail = || {
        let volumes = plural(names.len(), "volume", "volumes");
        let uses = plural(names.len(), "uses", "use");
        let what = plural(types.len(), "restricted volume type", "restricted volume types");
        format!("{volumes} {} {uses} {what} {}", listed(names.iter().copied()), listed(types.iter().copied()))
    };
    (!names.is_empty()).then(|| ("restricted volume types", detail()))
}
