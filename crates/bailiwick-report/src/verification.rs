//! The result of `migrate verify` in words.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_adopt::{ConstraintsVerification, PodRejection, PodVerification, RefusedPods};

use super::human::{first_names, number};
use super::page::Page;
use super::result::CommandResult;

impl CommandResult for PodVerification {
    const NAME: &'static str = "migrate-verify";
}

/// How many names of a list are printed.
const SHOWN: usize = 3;

/// Returns the verdict about the pods of a dump. Workloads with equal rejections are one entry.
pub fn text(verification: &PodVerification) -> String {
    let PodVerification { target, workloads, pods, patched, refused, not_in_output, not_evaluated, .. } = verification;
    let PodVerification { unused_patches, not_enforced, .. } = verification;
    let mut page = Page::new();
    let all = format!("{} with {}", number(*workloads, "workload"), number(*pods, "pod"));
    let patched = if *patched > 0 { format!(", {patched} of them patched") } else { String::new() };
    let verdict = match refused.len() {
        0 => "all are admitted".to_owned(),
        count => format!("{} rejected", if count == 1 { "1 is".to_owned() } else { format!("{count} are") }),
    };
    writeln!(page, "`{target}`: {all}{patched}; {verdict}");
    for part in not_enforced {
        let (part, setting) = match part.as_str() {
            "levels" => ("the levels", "`modes` has no `enforce`"),
            "limits" => {
                ("the limits of profiles that constraints have no field for", "`validationActions` has no `Deny`")
            }
            _ => ("the profiles", "`validationActions` has no `Deny`"),
        };
        writeln!(page, "not enforced on this target: {part}, since {setting}");
    }
    let mut alike: BTreeMap<&[PodRejection], Vec<&RefusedPods>> = BTreeMap::new();
    for refused in refused {
        alike.entry(&refused.rejections).or_default().push(refused);
    }
    for (rejections, refused) in alike {
        let names: Vec<String> = refused.iter().map(|refused| shown(refused)).collect();
        writeln!(page, "{}: {}", number(names.len(), "workload"), first_names(&names, SHOWN));
        for rejection in rejections {
            let by = match rejection.by.as_str() {
                "level" => "the Pod Security level of the namespace",
                "policies" => "PodSecurityPolicies",
                "constraints" => "SecurityContextConstraints",
                _ => "the profile of the namespace",
            };
            writeln!(page, "  rejected by {by}: {}", rejection.reasons.join("; "));
            writeln!(page, "  help: {}", rejection.help);
        }
    }
    if !unused_patches.is_empty() {
        writeln!(page, "patches that change no workload of the manifests: {}", first_names(unused_patches, SHOWN));
    }
    if !not_in_output.is_empty() {
        let names: Vec<String> = not_in_output.keys().cloned().collect();
        let namespaces = number(names.len(), "namespace");
        let workloads = number(not_in_output.values().sum(), "workload");
        let text = "evaluated with the labels of the manifests";
        writeln!(page, "not in the output: {namespaces} with {workloads}, {text}: {}", first_names(&names, SHOWN));
    }
    verification.openshift.iter().for_each(|openshift| constraints(openshift, &mut page));
    for (kind, names) in not_evaluated {
        writeln!(page, "not evaluated: {kind} {}", first_names(names, SHOWN));
    }
    page.finish()
}

/// Writes the constraints that admit pods, and the assumptions about OpenShift.
fn constraints(found: &ConstraintsVerification, page: &mut Page) {
    let names = |names: &BTreeSet<String>| first_names(&names.iter().cloned().collect::<Vec<_>>(), SHOWN);
    for (name, workloads) in &found.other_constraints {
        let count = number(workloads.len(), "workload");
        let text = "admitted by constraints of the platform, and not by the constraints of a profile";
        writeln!(page, "{text}: {count} by `{name}`: {}", first_names(workloads, SHOWN));
    }
    if !found.without_constraints.is_empty() {
        let text = "not evaluated by constraints, as on OpenShift: the namespaces of the run levels 0 and 1";
        writeln!(page, "{text}: {}", names(&found.without_constraints));
    }
    if !found.by_account_alone.is_empty() {
        let count = number(found.by_account_alone.len(), "pod");
        let text = "evaluated by the service account alone, since the constraints of the creator are unknown";
        writeln!(page, "{text}: {count} without a template: {}", first_names(&found.by_account_alone, SHOWN));
    }
    if !found.without_ranges.is_empty() {
        let count = number(found.without_ranges.len(), "namespace");
        let text = "evaluated with two allocations of user ids and SELinux levels, since OpenShift allocates them";
        writeln!(page, "{text}: {count}: {}", names(&found.without_ranges));
    }
    if found.without_platform_constraints {
        writeln!(page, "not evaluated: the constraints of the platform, which are unknown before OpenShift 4.11");
    }
    for (policy, reason) in &found.undecided {
        writeln!(page, "no answer of the admission policy `{policy}`: {reason}");
    }
    if found.grants_not_counted > 0 {
        let grants = match found.grants_not_counted {
            1 => "1 role or binding".to_owned(),
            count => format!("{count} roles and bindings"),
        };
        writeln!(page, "not counted: {grants} of the manifests, since OpenShift is another cluster");
    }
}

fn shown(refused: &RefusedPods) -> String {
    let RefusedPods { kind, namespace, name, of, pods, .. } = refused;
    let of = of.as_ref().map_or_else(String::new, |of| format!(" of {of}"));
    let pods = if kind == "Pod" && *pods <= 1 { String::new() } else { format!(" ({})", number(*pods, "pod")) };
    format!("{kind}/{namespace}/{name}{of}{pods}")
}
