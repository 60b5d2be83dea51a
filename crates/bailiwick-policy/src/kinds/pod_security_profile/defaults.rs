//! The defaults of a profile, as the patches of a MutatingAdmissionPolicy.
//!
//! PodSecurityPolicy set the same fields when a pod was created (`pkg/security/podsecuritypolicy/provider.go` of
//! Kubernetes 1.24). Each patch is a list of JSON patches and applies to the result of the previous patches.

use super::cel::Cel;
use super::checks::effective;
use super::{GroupRule, PodSecurityProfileSpec, SeLinuxRule, UserRule, annotation_value};
use crate::model::Target;

/// The lists of containers in a new pod.
const LISTS: [&str; 2] = ["containers", "initContainers"];

/// How an expression makes a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A typed object, as the API server requires.
    Object,
    /// A map, for an evaluation without the type.
    Map,
}

impl Form {
    /// Returns the expression of a patch with a new field; path and value are expressions.
    fn add(self, path: &str, value: &str) -> String {
        match self {
            Self::Object => format!("JSONPatch{{op: 'add', path: {path}, value: {value}}}"),
            Self::Map => format!("{{'op': 'add', 'path': {path}, 'value': {value}}}"),
        }
    }
}

/// Returns the patches of a profile, in order; none for a profile without defaults.
pub(super) fn patches(spec: &PodSecurityProfileSpec, target: &Target, form: Form) -> Vec<String> {
    let mut patches = Patches { cel: Cel::new(target), form, pod: Vec::new(), containers: Vec::new() };
    patches.pod(spec);
    patches.identity(spec);
    patches.privileges(spec);
    patches.finish()
}

struct Patches<'t> {
    cel: Cel<'t>,
    form: Form,
    /// Patches of pod fields.
    pod: Vec<String>,
    /// Fields of each container's security context: condition, name and value.
    containers: Vec<(String, &'static str, String)>,
}

impl Patches<'_> {
    fn finish(self) -> Vec<String> {
        let (mut all, form) = (self.pod, self.form);
        if self.containers.is_empty() {
            return all;
        }
        for list in LISTS {
            all.push(each(form, list, "!has(c.securityContext)", "", "{}"));
        }
        for (condition, field, value) in &self.containers {
            all.extend(LISTS.map(|list| each(form, list, condition, &format!("/{field}"), value)));
        }
        all
    }

    /// Adds a default for a field of the pod.
    fn pod_field(&mut self, path: &str, value: &str) {
        let selected = path.split('/').fold("object.spec".to_owned(), |path, field| format!("{path}.?{field}"));
        let patch = self.form.add(&format!("'/spec/{path}'"), value);
        self.pod.push(format!("{selected}.hasValue() ? [] : [{patch}]"));
    }

    fn container_field(&mut self, field: &'static str, value: String) {
        self.containers.push((format!("!{}.hasValue()", effective(field)), field, value));
    }

    fn pod(&mut self, spec: &PodSecurityProfileSpec) {
        let fs_group = filled_group(spec.fs_group.rule, spec.fs_group.ranges.first());
        let further = filled_group(spec.supplemental_groups.rule, spec.supplemental_groups.ranges.first());
        let se_linux =
            spec.se_linux.se_linux_options.as_ref().filter(|_| matches!(spec.se_linux.rule, SeLinuxRule::MustRunAs));
        let seccomp = spec.seccomp.as_ref().and_then(|profiles| profiles.default.as_deref());
        if fs_group.is_some() || further.is_some() || se_linux.is_some() || seccomp.is_some() {
            self.pod_field("securityContext", "{}");
        }
        if let Some(range) = fs_group {
            self.pod_field("securityContext/fsGroup", &self.cel.number(&range.min));
        }
        if let Some(range) = further {
            self.pod_field("securityContext/supplementalGroups", &format!("[{}]", self.cel.number(&range.min)));
        }
        if let Some(options) = se_linux {
            let fields = [
                ("user", &options.user),
                ("role", &options.role),
                ("type", &options.r#type),
                ("level", &options.level),
            ];
            let given = fields.iter().filter_map(|(field, text)| text.as_ref().map(|text| (field, text)));
            let entries: Vec<String> =
                given.map(|(field, text)| format!("'{field}': {}", self.cel.text(text))).collect();
            self.pod_field("securityContext/seLinuxOptions", &format!("{{{}}}", entries.join(", ")));
        }
        if let Some(profile) = seccomp {
            self.pod_field("securityContext/seccompProfile", &self.profile(profile));
        }
        if let Some(class) = spec.runtime_classes.as_ref().and_then(|classes| classes.default.as_deref()) {
            self.pod_field("runtimeClassName", &self.cel.text(class));
        }
    }

    fn identity(&mut self, spec: &PodSecurityProfileSpec) {
        match (spec.run_as_user.rule, spec.run_as_user.ranges.first()) {
            (UserRule::MustRunAs, Some(range)) => self.container_field("runAsUser", self.cel.number(&range.min)),
            (UserRule::MustRunAsNonRoot, _) => {
                let unset =
                    format!("!{}.hasValue() && !{}.hasValue()", effective("runAsNonRoot"), effective("runAsUser"));
                self.containers.push((unset, "runAsNonRoot", "true".to_owned()));
            }
            _ => {}
        }
        let group =
            spec.run_as_group.as_ref().and_then(|strategy| filled_group(strategy.rule, strategy.ranges.first()));
        if let Some(range) = group {
            self.container_field("runAsGroup", self.cel.number(&range.min));
        }
    }

    fn privileges(&mut self, spec: &PodSecurityProfileSpec) {
        if let Some(profile) = spec.app_armor.as_ref().and_then(|profiles| profiles.default.as_deref()) {
            // The server takes the older annotation into the field only after this.
            let annotated = "('container.apparmor.security.beta.kubernetes.io/' + c.name) in \
                 object.metadata.?annotations.orValue({})";
            let unset = format!("!{}.hasValue() && !({annotated})", effective("appArmorProfile"));
            self.containers.push((unset, "appArmorProfile", self.profile(profile)));
        }
        self.capabilities(spec);
        if spec.read_only_root_filesystem {
            self.unset("readOnlyRootFilesystem", "true");
        }
        let escalation = spec.default_allow_privilege_escalation;
        if let Some(default) = escalation.or(spec.allow_privilege_escalation.filter(|allowed| !allowed)) {
            self.unset("allowPrivilegeEscalation", if default { "true" } else { "false" });
        }
    }

    /// Adds a default for a field that only containers have.
    fn unset(&mut self, field: &'static str, value: &str) {
        self.containers.push((format!("!c.?securityContext.?{field}.hasValue()"), field, value.to_owned()));
    }

    /// Adds the default capabilities: additions unless the container drops them, and required drops.
    fn capabilities(&mut self, spec: &PodSecurityProfileSpec) {
        let own = &spec.capabilities;
        let (given_add, given_drop) =
            ("c.?securityContext.?capabilities.?add.orValue([])", "c.?securityContext.?capabilities.?drop.orValue([])");
        let names = |names: &[String]| self.cel.texts(names.iter().map(String::as_str));
        let add =
            format!("{}.filter(name, !(name in {given_drop}) && !(name in {given_add}))", names(&own.default_add));
        let drop = format!("{}.filter(name, !(name in {given_drop}))", names(&own.required_drop));
        let (condition, value) = match (own.default_add.is_empty(), own.required_drop.is_empty()) {
            (true, true) => return,
            (true, false) => (
                format!("size({drop}) > 0"),
                format!("{{'add': dyn({given_add}), 'drop': dyn({given_drop} + {drop})}}"),
            ),
            (false, true) => {
                (format!("size({add}) > 0"), format!("{{'add': dyn({given_add} + {add}), 'drop': dyn({given_drop})}}"))
            }
            (false, false) => (
                format!("size({add}) + size({drop}) > 0"),
                format!("{{'add': dyn({given_add} + {add}), 'drop': dyn({given_drop} + {drop})}}"),
            ),
        };
        self.containers.push((condition, "capabilities", value));
    }

    /// Converts a seccomp or AppArmor profile to the present form in pods.
    fn profile(&self, name: &str) -> String {
        match annotation_value(name).as_str() {
            "unconfined" => "{'type': 'Unconfined'}".to_owned(),
            other => match other.strip_prefix("localhost/") {
                Some(file) => format!("{{'type': 'Localhost', 'localhostProfile': {}}}", self.cel.text(file)),
                None => "{'type': 'RuntimeDefault'}".to_owned(),
            },
        }
    }
}

/// Returns the range of the default group.
fn filled_group(rule: GroupRule, first: Option<&super::Range>) -> Option<&super::Range> {
    first.filter(|_| matches!(rule, GroupRule::MustRunAs))
}

/// Builds one patch for each matching container of a list.
fn each(form: Form, list: &str, condition: &str, field: &str, value: &str) -> String {
    let path = format!("'/spec/{list}/' + string(i) + '/securityContext{field}'");
    let patch = form.add(&path, value);
    format!("object.spec.?{list}.orValue([]).transformList(i, c, {condition}, {patch})")
}
