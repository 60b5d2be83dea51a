//! The order of constraints in admission: by priority, then the stricter first, then by name
//! (`pkg/securitycontextconstraints/util/sort` of openshift/apiserver-library-go).

use super::Scc;

/// Returns the points of constraints: fewer points mean stricter constraints, tried earlier.
pub fn points(scc: &Scc) -> i32 {
    let when = |holds: bool, points: i32| if holds { points } else { 0 };
    when(scc.allow_privileged_container, 1_600_000)
        + when(scc.allow_host_ports, 800_000)
        + when(scc.allow_host_network, 400_000)
        + volume_points(scc)
        + match scc.run_as_user.r#type.as_str() {
            "RunAsAny" => 40_000,
            "MustRunAsNonRoot" => 30_000,
            "MustRunAsRange" => 20_000,
            "MustRunAs" => 10_000,
            _ => 0,
        }
        + match scc.se_linux_context.r#type.as_str() {
            "RunAsAny" => 40_000,
            "MustRunAs" => 10_000,
            _ => 0,
        }
        + capability_points(scc)
}

/// Sorts constraints in the order of admission.
pub fn sort(sccs: &mut [&Scc]) {
    sccs.sort_by(|left, right| {
        right
            .priority()
            .cmp(&left.priority())
            .then_with(|| points(left).cmp(&points(right)))
            .then_with(|| left.name().cmp(right.name()))
    });
}

fn volume_points(scc: &Scc) -> i32 {
    let any = |matches: fn(&str) -> bool| scc.volumes().iter().any(|name| matches(name));
    if any(|name| matches!(name, "*" | "hostPath")) {
        200_000
    } else if any(|name| !matches!(name, "secret" | "configMap" | "emptyDir" | "downwardAPI" | "projected" | "none")) {
        100_000
    } else {
        0
    }
}

fn capability_points(scc: &Scc) -> i32 {
    let each = |list: &[String], points: i32| list.iter().fold(0_i32, |sum, _| sum.saturating_add(points));
    let is_all = |name: &String| name.eq_ignore_ascii_case("all");
    let allowed = if scc.allowed_capabilities.iter().any(|name| name == "*" || is_all(name)) {
        4_000
    } else {
        each(&scc.allowed_capabilities, 10)
    };
    let dropped = if scc.required_drop_capabilities.iter().any(is_all) {
        3_000
    } else {
        each(&scc.required_drop_capabilities, 50)
    };
    let sum = 5_000_i32.saturating_add(each(&scc.default_add_capabilities, 300)).saturating_add(allowed);
    sum.saturating_sub(dropped).clamp(0, 9_999)
}
