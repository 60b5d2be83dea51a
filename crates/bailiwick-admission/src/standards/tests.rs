//! Each check at its borders. The messages are from the real evaluator for these pods.

use super::labels::LevelVersion;
use super::*;
use bailiwick_yaml as yaml;
use bailiwick_yaml::diag::{FileId, Sink};

fn pod(text: &str) -> Pod {
    let tree = yaml::read(text, FileId::default(), &mut Sink::new());
    Pod::read(tree.document(0).expect("a document")).expect("a pod")
}

/// Returns the result of one check for a pod, by the version of a minor: `reason (detail)`, or nothing.
fn found(check: &str, minor: u64, text: &str) -> String {
    let level = CHECKS.iter().find(|known| known.id == check).expect("a check").level;
    let mut found = violations(&pod(text), level, PolicyVersion::Minor(minor));
    found.retain(|violation| violation.check == check);
    details(&found)
}

#[test]
fn the_list_is_in_the_order_of_reports() {
    let order: Vec<_> = CHECKS.iter().map(|check| (std::cmp::Reverse(check.level), check.id)).collect();
    assert!(order.is_sorted());
    for check in CHECKS {
        let replaced = check.replaces.map(|id| CHECKS.iter().find(|known| known.id == id).expect("a check"));
        assert!(replaced.is_none_or(|replaced| replaced.level == Level::Baseline && check.level == Level::Restricted));
    }
}

#[test]
fn a_level_has_the_checks_of_its_version() {
    let ids = |level, minor| checks::at_level(level, minor).map(|(check, _)| check.id).collect::<Vec<_>>();
    for (level, minor, count) in [
        (Level::Privileged, NEWEST, 0),
        (Level::Baseline, 0, 11),
        (Level::Baseline, 33, 11),
        (Level::Baseline, 34, 12),
        // Restricted volumes take the place of paths of the node; users did not matter yet.
        (Level::Restricted, 0, 12),
        (Level::Restricted, 8, 13),
        (Level::Restricted, 19, 13),
        (Level::Restricted, 22, 13),
        (Level::Restricted, 23, 14),
        (Level::Restricted, 34, 15),
        (Level::Restricted, 35, 15),
    ] {
        assert_eq!(ids(level, minor).len(), count, "{level} v1.{minor}");
    }
    assert!(ids(Level::Restricted, 18).contains(&"seccompProfile_baseline"));
    assert!(!ids(Level::Restricted, 19).contains(&"seccompProfile_baseline"));
    assert!(ids(Level::Restricted, 34).contains(&"procMount"));
    assert!(!ids(Level::Restricted, 35).contains(&"procMount"));
}

#[test]
fn newer_than_the_newest_is_the_newest() {
    let pod = pod("spec: {securityContext: {sysctls: [{name: net.ipv4.tcp_notsent_lowat}]}}");
    for (version, count) in [
        (PolicyVersion::Minor(36), 1),
        (PolicyVersion::Minor(37), 0),
        (PolicyVersion::Minor(99), 0),
        (PolicyVersion::Latest, 0),
    ] {
        assert_eq!(violations(&pod, Level::Baseline, version).len(), count, "{version}");
    }
}

#[test]
fn the_whole_message_is_the_servers() {
    let pod = pod("spec: {hostNetwork: true, hostIPC: true, containers: [{name: a, ports: [{containerPort: 8080}]}]}");
    let policy = labels::LevelVersion { level: Level::Restricted, version: PolicyVersion::Latest };
    let found = violations(&pod, policy.level, policy.version);
    assert_eq!(
        message(policy, &found),
        "violates PodSecurity \"restricted:latest\": host namespaces (hostNetwork=true, hostIPC=true), \
         hostPort (container \"a\" uses hostPort 8080), \
         allowPrivilegeEscalation != false (container \"a\" must set securityContext.allowPrivilegeEscalation=false), \
         unrestricted capabilities (container \"a\" must set securityContext.capabilities.drop=[\"ALL\"]), \
         runAsNonRoot != true (pod or container \"a\" must set securityContext.runAsNonRoot=true), \
         seccompProfile (pod or container \"a\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")"
    );
    assert_eq!(reasons(&found[..2]), "host namespaces, hostPort");
}

#[test]
fn the_strictest_level_that_fits() {
    let strict = "securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, containers: \
                  [{name: a, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]";
    for (spec, version, level) in [
        (strict, PolicyVersion::Latest, Level::Restricted),
        ("containers: [{name: a}]", PolicyVersion::Latest, Level::Baseline),
        ("hostPID: true", PolicyVersion::Latest, Level::Privileged),
        ("securityContext: {runAsNonRoot: true}, containers: [{name: a}]", PolicyVersion::Minor(7), Level::Restricted),
        ("securityContext: {runAsNonRoot: true}, containers: [{name: a}]", PolicyVersion::Minor(8), Level::Baseline),
    ] {
        assert_eq!(strictest(&pod(&format!("spec: {{{spec}}}")), version), level, "{spec}");
    }
}

/// A row: the check, a minor, the pod, and the result.
type Row = (&'static str, u64, &'static str, &'static str);

fn hold(rows: &[Row]) {
    for (check, minor, text, expected) in rows {
        assert_eq!(found(check, *minor, text), *expected, "{check} at v1.{minor}: {text}");
    }
}

#[test]
fn nothing_of_the_node() {
    hold(&[
        (
            "hostPathVolumes",
            0,
            "spec: {volumes: [{name: v, hostPath: {path: /}}, {name: w}]}",
            "hostPath volumes (volume \"v\")",
        ),
        ("hostPathVolumes", 0, "spec: {volumes: [{name: v, hostPath: null}]}", ""),
        (
            "hostPorts",
            0,
            "spec: {initContainers: [{name: i, ports: [{hostPort: 9}, {hostPort: 10}]}], ephemeralContainers: [{name: e, ports: [{hostPort: 9}, {hostPort: 0}]}]}",
            "hostPort (containers \"i\", \"e\" use hostPorts 10, 9)",
        ),
        ("hostProbesAndHostLifecycle", 33, "spec: {containers: [{name: b, livenessProbe: {httpGet: {host: x}}}]}", ""),
        (
            "hostProbesAndHostLifecycle",
            34,
            "spec: {containers: [{name: b, livenessProbe: {httpGet: {host: x}}, lifecycle: {preStop: {tcpSocket: {host: z}}}}, {name: a, startupProbe: {tcpSocket: {host: x}}}]}",
            "probe or lifecycle host (containers \"a\", \"b\" use probe or lifecycle hosts \"x\", \"z\")",
        ),
        (
            "hostProbesAndHostLifecycle",
            34,
            "spec: {containers: [{name: b, readinessProbe: {httpGet: {host: ''}}}]}",
            "",
        ),
        (
            "sysctls",
            26,
            "spec: {securityContext: {sysctls: [{name: net.ipv4.ip_local_reserved_ports}, {name: a}, {name: kernel.shm_rmid_forced}]}}",
            "forbidden sysctls (net.ipv4.ip_local_reserved_ports, a)",
        ),
        ("sysctls", 27, "spec: {securityContext: {sysctls: [{name: net.ipv4.ip_local_reserved_ports}]}}", ""),
        ("sysctls", 37, "spec: {securityContext: {sysctls: [{name: ''}]}}", "forbidden sysctls"),
        (
            "windowsHostProcess",
            0,
            "spec: {securityContext: {windowsOptions: {hostProcess: true}}, containers: [{name: a, securityContext: {windowsOptions: {hostProcess: true}}}]}",
            "hostProcess (pod and container \"a\" must not set securityContext.windowsOptions.hostProcess=true)",
        ),
        (
            "restrictedVolumes",
            0,
            "spec: {volumes: [{name: a, nfs: {}}, {name: b, rbd: {}, hostPath: {}}, {name: c, rbd: {}, secret: {}}, {name: d, image: {}}]}",
            "restricted volume types (volumes \"a\", \"b\" use restricted volume types \"hostPath\", \"nfs\")",
        ),
    ]);
}

#[test]
fn kernel_parameters_became_safe_one_by_one() {
    for (minor, names) in [
        (
            0,
            "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range net.ipv4.ip_unprivileged_port_start",
        ),
        (27, "net.ipv4.ip_local_reserved_ports"),
        (
            29,
            "net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes",
        ),
        (32, "net.ipv4.tcp_rmem net.ipv4.tcp_wmem"),
        (37, "net.ipv4.tcp_slow_start_after_idle net.ipv4.tcp_notsent_lowat"),
    ] {
        for name in names.split(' ') {
            let pod = format!("spec: {{securityContext: {{sysctls: [{{name: {name}}}]}}}}");
            let since = (0..=NEWEST).find(|minor| found("sysctls", *minor, &pod).is_empty());
            assert_eq!(since, Some(minor), "{name}");
        }
    }
}

#[test]
fn no_more_than_a_process_needs() {
    hold(&[
        (
            "capabilities_baseline",
            0,
            "spec: {containers: [{name: a, securityContext: {capabilities: {add: [KILL, B, A]}}}, {name: b, securityContext: {capabilities: {add: [A, kill]}}}]}",
            "non-default capabilities (containers \"a\", \"b\" must not include \"A\", \"B\", \"kill\" in securityContext.capabilities.add)",
        ),
        (
            "capabilities_restricted",
            24,
            "spec: {os: {name: windows}, containers: [{name: a, securityContext: {capabilities: {add: [KILL, NET_BIND_SERVICE], drop: [ALL]}}}, {name: b, securityContext: {capabilities: {drop: [all]}}}]}",
            "unrestricted capabilities (container \"b\" must set securityContext.capabilities.drop=[\"ALL\"]; container \"a\" must not include \"KILL\" in securityContext.capabilities.add)",
        ),
        ("capabilities_restricted", 25, "spec: {os: {name: windows}, containers: [{name: a}]}", ""),
        ("allowPrivilegeEscalation", 25, "spec: {os: {name: windows}, containers: [{name: a}]}", ""),
        (
            "allowPrivilegeEscalation",
            24,
            "spec: {os: {name: windows}, containers: [{name: a}, {name: b, securityContext: {allowPrivilegeEscalation: false}}]}",
            "allowPrivilegeEscalation != false (container \"a\" must set securityContext.allowPrivilegeEscalation=false)",
        ),
        ("privileged", 0, "spec: {containers: [{name: a, securityContext: {privileged: false}}]}", ""),
        (
            "privileged",
            0,
            "spec: {ephemeralContainers: [{name: a, securityContext: {privileged: true}}]}",
            "privileged (container \"a\" must not set securityContext.privileged=true)",
        ),
        (
            "runAsNonRoot",
            34,
            "spec: {hostUsers: false, securityContext: {runAsNonRoot: false}, containers: [{name: a}, {name: b, securityContext: {runAsNonRoot: false}}]}",
            "runAsNonRoot != true (pod and container \"b\" must not set securityContext.runAsNonRoot=false)",
        ),
        ("runAsNonRoot", 35, "spec: {hostUsers: false, securityContext: {runAsNonRoot: false}}", ""),
        (
            "runAsNonRoot",
            35,
            "spec: {hostUsers: true, containers: [{name: a}, {name: b, securityContext: {runAsNonRoot: true}}]}",
            "runAsNonRoot != true (pod or container \"a\" must set securityContext.runAsNonRoot=true)",
        ),
        (
            "runAsNonRoot",
            0,
            "spec: {securityContext: {runAsNonRoot: false}, containers: [{name: b, securityContext: {runAsNonRoot: true}}]}",
            "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)",
        ),
        (
            "runAsUser",
            34,
            "spec: {hostUsers: false, securityContext: {runAsUser: 0}}",
            "runAsUser=0 (pod must not set runAsUser=0)",
        ),
        ("runAsUser", 35, "spec: {hostUsers: false, securityContext: {runAsUser: 0}}", ""),
    ]);
    assert_eq!(found("runAsUser", 22, "spec: {securityContext: {runAsUser: 0}}"), "");
}

#[test]
fn apparmor_profiles_are_those_of_the_runtime() {
    hold(&[
        (
            "appArmorProfile",
            0,
            "{metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/a: unconfined, container.apparmor.security.beta.kubernetes.io/b: localhost/x}}, spec: {securityContext: {appArmorProfile: {type: Unconfined}}, containers: [{name: a, securityContext: {appArmorProfile: {type: RuntimeDefault}}}]}}",
            "forbidden AppArmor profiles (pod and annotation must not set AppArmor profile type to \"Unconfined\", \"container.apparmor.security.beta.kubernetes.io/a=\"unconfined\"\")",
        ),
        (
            "appArmorProfile",
            0,
            "spec: {containers: [{name: a, securityContext: {appArmorProfile: {}}}]}",
            "forbidden AppArmor profile (container \"a\" must not set AppArmor profile type to \"\")",
        ),
        // Annotations are in the order of the whole text, not of their keys.
        (
            "appArmorProfile",
            0,
            "metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/a: x, container.apparmor.security.beta.kubernetes.io/a!: y1}}",
            "forbidden AppArmor profiles (annotations must not set AppArmor profile type to \"container.apparmor.security.beta.kubernetes.io/a!=\"y1\"\", \"container.apparmor.security.beta.kubernetes.io/a=\"x\"\")",
        ),
    ]);
}

#[test]
fn seccomp_profiles_are_those_of_the_runtime() {
    hold(&[
        (
            "seccompProfile_baseline",
            18,
            "{metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: '', container.seccomp.security.alpha.kubernetes.io/a: docker/default, container.seccomp.security.alpha.kubernetes.io/z: none}}, spec: {containers: [{name: a}]}}",
            "seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod=\"\")",
        ),
        (
            "seccompProfile_baseline",
            19,
            "metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: unconfined}}",
            "",
        ),
        (
            "seccompProfile_baseline",
            19,
            "spec: {securityContext: {seccompProfile: {type: Localhost}}, containers: [{name: a, securityContext: {seccompProfile: {type: Unconfined}}}]}",
            "seccompProfile (container \"a\" must not set securityContext.seccompProfile.type to \"Unconfined\")",
        ),
        (
            "seccompProfile_restricted",
            24,
            "spec: {os: {name: windows}, initContainers: [{name: a}], containers: [{name: b, securityContext: {seccompProfile: {type: Localhost}}}]}",
            "seccompProfile (pod or container \"a\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")",
        ),
        ("seccompProfile_restricted", 25, "spec: {os: {name: windows}, containers: [{name: a}]}", ""),
    ]);
}

#[test]
fn selinux_and_proc_are_as_the_runtime_has_them() {
    hold(&[
        (
            "seLinuxOptions",
            30,
            "spec: {securityContext: {seLinuxOptions: {type: container_engine_t, level: any}}, containers: [{name: a, securityContext: {seLinuxOptions: {role: r}}}, {name: b, securityContext: {seLinuxOptions: {user: u}}}]}",
            "seLinuxOptions (pod and containers \"a\", \"b\" set forbidden securityContext.seLinuxOptions: type \"container_engine_t\"; user may not be set; role may not be set)",
        ),
        ("seLinuxOptions", 31, "spec: {securityContext: {seLinuxOptions: {type: container_engine_t}}}", ""),
        (
            "procMount",
            34,
            "spec: {hostUsers: false, containers: [{name: a, securityContext: {procMount: Unmasked}}]}",
            "procMount (container \"a\" must not set securityContext.procMount to \"Unmasked\")",
        ),
        (
            "procMount",
            35,
            "spec: {hostUsers: false, containers: [{name: a, securityContext: {procMount: Unmasked}}]}",
            "",
        ),
        (
            "procMount_restricted",
            35,
            "spec: {hostUsers: false, containers: [{name: a, securityContext: {procMount: ''}}, {name: b, securityContext: {procMount: Default}}]}",
            "procMount (container \"a\" must not set securityContext.procMount to \"\")",
        ),
    ]);
}

/// Pods with different answers of some versions of some levels, one for each change.
const CHANGING: [&str; 15] = [
    "spec: {hostNetwork: true}",
    "spec: {volumes: [{name: v, nfs: {server: s}}]}",
    "spec: {containers: [{name: c, securityContext: {capabilities: {add: [CHOWN]}}}]}",
    "spec: {containers: [{name: c}]}",
    "spec: {os: {name: windows}, securityContext: {runAsNonRoot: true}, containers: [{name: c}]}",
    "spec: {securityContext: {seLinuxOptions: {type: container_engine_t}}}",
    "spec: {securityContext: {sysctls: [{name: net.ipv4.ip_local_reserved_ports}]}}",
    "spec: {securityContext: {sysctls: [{name: net.ipv4.tcp_fin_timeout}]}}",
    "spec: {securityContext: {sysctls: [{name: net.ipv4.tcp_rmem}]}}",
    "spec: {securityContext: {sysctls: [{name: net.ipv4.tcp_notsent_lowat}]}}",
    "spec: {hostUsers: false, securityContext: {runAsUser: 0, runAsNonRoot: true}}",
    "spec: {hostUsers: false, securityContext: {runAsNonRoot: false}}",
    "spec: {hostUsers: false, containers: [{name: c, securityContext: {procMount: Unmasked}}]}",
    "{metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: unconfined}}, spec: {}}",
    "spec: {securityContext: {seccompProfile: {type: Unconfined}}}",
];

#[test]
fn levels_differ_where_a_pod_shows_it() {
    let hardened = "runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}";
    let escalates = "containers: [{name: c, securityContext: {runAsNonRoot: true, capabilities: {drop: [ALL]}}}]";
    let keeps = "containers: [{name: c, securityContext: {allowPrivilegeEscalation: false}}]";
    let strict = "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}";
    let probed = format!("containers: [{{name: c, livenessProbe: {{httpGet: {{host: a}}}}, {strict}}}]");
    let more = [
        format!("spec: {{securityContext: {{{hardened}}}, {probed}}}"),
        format!("spec: {{securityContext: {{{hardened}}}, {keeps}}}"),
        format!("spec: {{securityContext: {{runAsUser: 0, {hardened}}}}}"),
        format!("spec: {{securityContext: {{{hardened}}}, {escalates}}}"),
    ];
    let pods: Vec<Pod> = CHANGING.into_iter().chain(more.iter().map(String::as_str)).map(pod).collect();
    let mut levels = vec![LevelVersion::PRIVILEGED];
    for minor in 0..=NEWEST {
        let version = PolicyVersion::Minor(minor);
        levels.extend([Level::Baseline, Level::Restricted].map(|level| LevelVersion { level, version }));
    }
    let admits = |pod: &Pod, level: LevelVersion| violations(pod, level.level, level.version).is_empty();
    for before in &levels {
        for after in &levels {
            let admitted = pods.iter().map(|pod| (admits(pod, *before), admits(pod, *after)));
            let shown = LevelDifference {
                admits_more: admitted.clone().any(|(was, is)| !was && is),
                admits_less: admitted.clone().any(|(was, is)| was && !is),
            };
            assert_eq!(difference(*before, *after), shown, "{before} -> {after}");
        }
    }
}
