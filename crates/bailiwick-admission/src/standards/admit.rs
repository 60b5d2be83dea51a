//! The decision of Pod Security admission about a request, by the configuration of the cluster and the labels of the
//! namespace (`pod-security-admission/admission/admission.go`).
//!
//! Updates are evaluated as creations if [`is_significant_update`]. Left out: the warnings about existing pods at a change of labels.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::configuration::{Configuration, Exemptions};
use super::labels::{LabelError, LevelVersion, PodSecurityLevels};
use super::{LevelViolation, details, message, violations, words};
use crate::level::Level;
use crate::pod::Pod;
use bailiwick_kubernetes::absent;

/// The user, the namespace and the pod of a request.
#[derive(Debug, Clone, Copy)]
pub struct PodSecurityRequest<'r> {
    /// Name of the user.
    pub user: &'r str,
    /// Name of the namespace.
    pub namespace: &'r str,
    /// Labels of the namespace.
    pub labels: &'r BTreeMap<String, String>,
    /// The pod, or the template of a workload.
    pub pod: &'r Pod,
    /// Whether it is a pod: a level is only enforced on these.
    pub is_pod: bool,
}

/// The answer to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// Why it is refused, if it is.
    pub refused: Option<String>,
    /// The warning for the user.
    pub warning: Option<String>,
    /// The audit annotations: `exempt`, `enforce-policy`, `audit-violations`, `error`.
    pub audit: BTreeMap<&'static str, String>,
}

/// Answers a request.
pub fn review(configuration: &Configuration, request: PodSecurityRequest<'_>) -> Review {
    let mut review = Review::default();
    let exemption = exemption(&configuration.exemptions, request);
    // The plugin checks the namespace and the user first, and evaluates the pod only for a level above privileged.
    if let Some(reason) = exemption.filter(|reason| *reason != "runtimeClass") {
        review.audit.insert("exempt", reason.to_owned());
        return review;
    }
    let (policy, errors) = configuration.defaults.with_labels(request.labels);
    let asked = [policy.audit, policy.warn].into_iter().chain(request.is_pod.then_some(policy.enforce));
    if errors.is_empty() && asked.into_iter().all(|asked| asked.level == Level::Privileged) {
        if request.is_pod {
            review.audit.insert("enforce-policy", LevelVersion::PRIVILEGED.to_string());
        }
        return review;
    }
    if let Some(reason) = exemption {
        review.audit.insert("exempt", reason.to_owned());
        return review;
    }
    if !errors.is_empty() {
        review.audit.insert("error", format!("Failed to parse policy: {}", all(&errors)));
    }
    let found = |policy: LevelVersion| -> Option<Vec<LevelViolation>> {
        let found = violations(request.pod, policy.level, policy.version);
        (!found.is_empty()).then_some(found)
    };
    if request.is_pod {
        review.audit.insert("enforce-policy", policy.enforce.to_string());
        review.refused = found(policy.enforce).map(|found| message(policy.enforce, &found));
    }
    let would = |policy: LevelVersion| {
        let name = words::quoted(&policy.to_string());
        found(policy).map(|found| format!("would violate PodSecurity {name}: {}", details(&found)))
    };
    review.audit.extend(would(policy.audit).map(|text| ("audit-violations", text)));
    // A rejected user gets no warning.
    if review.refused.is_none() {
        review.warning = would(policy.warn);
    }
    review
}

/// Whether Pod Security evaluates a changed pod: a container comes or goes, or has another image (`isSignificantPodUpdate`, 1.37).
pub fn is_significant_update(new: &Json, old: &Json) -> bool {
    let images = |pod: &Json, list: &str| -> Vec<(String, String)> {
        let text = |container: &Json, key| absent::text(container.get(key).and_then(Json::as_str)).to_owned();
        let containers = pod.pointer(&format!("/spec/{list}")).and_then(Json::as_array).into_iter().flatten();
        containers.map(|container| (text(container, "name"), text(container, "image"))).collect()
    };
    let differ = |list| {
        let (new, old) = (images(new, list), images(old, list));
        new.len() != old.len() || new.iter().zip(&old).any(|(new, old)| new.1 != old.1)
    };
    let known = images(old, "ephemeralContainers");
    let is_known = |(name, image): &(String, String)| {
        known.iter().find(|(other, _)| other == name).is_some_and(|(_, other)| other == image)
    };
    differ("containers") || differ("initContainers") || !images(new, "ephemeralContainers").iter().all(is_known)
}

/// Returns the invalid labels of a namespace, unless they were invalid before in the same way.
pub fn refused_labels(
    defaults: PodSecurityLevels,
    old: Option<&BTreeMap<String, String>>,
    new: &BTreeMap<String, String>,
) -> Vec<LabelError> {
    let (_, errors) = defaults.with_labels(new);
    let before = old.map_or_else(Vec::new, |old| defaults.with_labels(old).1);
    if errors == before { Vec::new() } else { errors }
}

/// Returns the reason for an exemption from Pod Security, in the form of the audit log.
pub(crate) fn exemption(exemptions: &Exemptions, request: PodSecurityRequest<'_>) -> Option<&'static str> {
    let holds = |list: &[String], name: &str| !name.is_empty() && list.iter().any(|exempt| exempt == name);
    let runtime_class = absent::text(request.pod.spec.runtime_class_name.as_deref());
    if exemptions.has_namespace(request.namespace) {
        Some("namespace")
    } else if holds(&exemptions.usernames, request.user) {
        Some("user")
    } else if holds(&exemptions.runtime_classes, runtime_class) {
        Some("runtimeClass")
    } else {
        None
    }
}

/// Joins several errors in the form of the API server.
fn all(errors: &[LabelError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    match texts.as_slice() {
        [only] => only.clone(),
        texts => format!("[{}]", texts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    /// The answer for a pod of a user on the node's network, as `refused | warning | audit`.
    fn answer(labels: &[(&str, &str)], is_pod: bool, exempt: &str) -> String {
        let text = "spec: {hostNetwork: true, runtimeClassName: kata, containers: [{name: c}]}";
        let tree = yaml::read(text, FileId::default(), &mut Sink::new());
        let pod = Pod::read(tree.document(0).expect("a document")).expect("a pod");
        let labels =
            labels.iter().map(|(name, value)| (format!("pod-security.kubernetes.io/{name}"), (*value).to_owned()));
        let list = |name: &str| if name == exempt { vec![name.to_owned()] } else { Vec::new() };
        let configuration = Configuration {
            defaults: PodSecurityLevels::UPSTREAM,
            exemptions: Exemptions { usernames: list("ann"), namespaces: list("n"), runtime_classes: list("kata") },
        };
        let labels = labels.collect();
        let request = PodSecurityRequest { user: "ann", namespace: "n", labels: &labels, pod: &pod, is_pod };
        let Review { refused, warning, audit } = review(&configuration, request);
        let audit: Vec<String> = audit.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        format!("{} | {} | {}", refused.unwrap_or_default(), warning.unwrap_or_default(), audit.join(", "))
    }

    #[test]
    fn levels_are_enforced_on_pods_alone() {
        let found = r#"violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)"#;
        assert_eq!(
            answer(&[("enforce", "baseline")], true, ""),
            format!("{found} |  | enforce-policy: baseline:latest")
        );
        let would = found.replace("violates", "would violate");
        assert_eq!(answer(&[("enforce", "baseline")], false, ""), format!(" | {would} | "));
        assert_eq!(
            answer(&[("audit", "baseline")], true, ""),
            format!(" |  | audit-violations: {would}, enforce-policy: privileged:latest")
        );
        assert_eq!(answer(&[], true, ""), " |  | enforce-policy: privileged:latest");
        assert_eq!(answer(&[], false, ""), " |  | ");
    }

    #[test]
    fn a_changed_image_or_container_is_significant() {
        let pod = |init: &str, own: &str, debug: &[(&str, &str)]| {
            let debug: Vec<Json> =
                debug.iter().map(|(name, image)| serde_json::json!({"name": name, "image": image})).collect();
            serde_json::json!({"spec": {
                "initContainers": [{"name": "i", "image": init}],
                "containers": [{"name": "c", "image": own}],
                "ephemeralContainers": debug,
            }})
        };
        let old = pod("a:1", "b:1", &[("d", "x")]);
        let is_significant = |new: Json| is_significant_update(&new, &old);
        for new in [
            pod("a:2", "b:1", &[("d", "x")]),
            pod("a:1", "b:2", &[("d", "x")]),
            pod("a:1", "b:1", &[("d", "y")]),
            pod("a:1", "b:1", &[("d", "x"), ("e", "x")]),
            serde_json::json!({"spec": {"containers": [{"name": "c", "image": "b:1"}]}}),
        ] {
            assert!(is_significant(new.clone()), "{new}");
        }
        for new in [old.clone(), pod("a:1", "b:1", &[])] {
            assert!(!is_significant(new.clone()), "{new}");
        }
    }

    #[test]
    fn the_exempt_pass_with_a_note() {
        for (exempt, reason) in [("n", "namespace"), ("ann", "user"), ("kata", "runtimeClass")] {
            assert_eq!(answer(&[("enforce", "baseline")], true, exempt), format!(" |  | exempt: {reason}"));
        }
        // Without a level, no pod is evaluated.
        assert_eq!(answer(&[], true, "kata"), " |  | enforce-policy: privileged:latest");
    }

    #[test]
    fn wrong_labels_are_refused_once() {
        let labels = |value: &str| BTreeMap::from([("pod-security.kubernetes.io/warn".to_owned(), value.to_owned())]);
        let refused = |old: Option<&str>, new: &str| {
            refused_labels(PodSecurityLevels::UPSTREAM, old.map(labels).as_ref(), &labels(new)).len()
        };
        assert_eq!([refused(None, "x"), refused(Some("baseline"), "x"), refused(Some("y"), "x")], [1, 1, 1]);
        assert_eq!([refused(Some("x"), "x"), refused(Some("x"), "baseline"), refused(None, "baseline")], [0, 0, 0]);
    }
}
