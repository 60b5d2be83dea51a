//! PodSecurityPolicies and the grants for their use.

use serde_json::{Value, json};

use super::{Field, reverse_lists, set, spell_default};
use crate::oracle::Dice;

const FIELDS: [Field; 19] = [
    ("privileged", || vec![json!(true), json!(false), Value::Null]),
    ("hostNetwork", || vec![json!(true), json!(false), Value::Null]),
    ("hostPID", || vec![json!(true), Value::Null]),
    ("hostIPC", || vec![json!(true), Value::Null]),
    ("allowPrivilegeEscalation", || vec![json!(true), json!(false), Value::Null]),
    ("defaultAllowPrivilegeEscalation", || vec![json!(false), Value::Null]),
    ("readOnlyRootFilesystem", || vec![json!(true), json!(false), Value::Null]),
    ("volumes", || {
        vec![
            json!(["*"]),
            json!(["configMap", "emptyDir", "secret"]),
            json!(["emptyDir", "hostPath", "csi"]),
            json!([]),
        ]
    }),
    ("allowedHostPaths", || {
        vec![json!([{"pathPrefix": "/data"}]), json!([{"pathPrefix": "/data", "readOnly": true}]), Value::Null]
    }),
    ("allowedCapabilities", || {
        vec![json!(["NET_BIND_SERVICE", "CHOWN"]), json!(["*"]), json!(["SYS_ADMIN"]), Value::Null]
    }),
    ("requiredDropCapabilities", || vec![json!(["KILL", "NET_RAW"]), json!(["ALL"]), Value::Null]),
    ("defaultAddCapabilities", || vec![json!(["CHOWN"]), Value::Null]),
    ("hostPorts", || vec![json!([{"min": 0, "max": 100}]), json!([{"min": 8080, "max": 8080}]), Value::Null]),
    ("runAsUser", || vec![any("runAsUser"), json!({"rule": "MustRunAsNonRoot"}), ids(1_000, 2_000), ids(1_000, 6_000)]),
    ("fsGroup", || {
        vec![any("fsGroup"), ids(1_000, 2_000), json!({"rule": "MayRunAs", "ranges": [{"min": 1_000, "max": 2_000}]})]
    }),
    ("supplementalGroups", || vec![any("supplementalGroups"), ids(1_000, 2_000)]),
    ("seLinux", || vec![any("seLinux"), json!({"rule": "MustRunAs", "seLinuxOptions": {"level": "s0:c1,c2"}})]),
    ("allowedUnsafeSysctls", || vec![json!(["kernel.msg*", "net.ipv4.tcp_rmem"]), json!(["*"]), Value::Null]),
    ("forbiddenSysctls", || vec![json!(["kernel.*", "net.ipv4.*"]), json!(["*"]), Value::Null]),
];

fn any(_: &str) -> Value {
    json!({"rule": "RunAsAny"})
}

fn ids(min: i64, max: i64) -> Value {
    json!({"rule": "MustRunAs", "ranges": [{"min": min, "max": max}]})
}

/// Returns two or three policies.
pub(super) fn psps(dice: &mut Dice) -> Vec<Value> {
    let count = 2 + dice.below(2);
    let policy = |number: usize| {
        let mut spec = json!({"volumes": ["*"]});
        for key in ["runAsUser", "fsGroup", "supplementalGroups", "seLinux"] {
            spec[key] = any(key);
        }
        for _ in 0..dice.below(8) {
            set(&mut spec, &FIELDS, dice);
        }
        json!({"apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy", "metadata": {"name": format!("x{number}")}, "spec": spec})
    };
    (0..count).map(policy).collect()
}

/// Returns roles for the use of policies, and their bindings.
pub(super) fn grants(dice: &mut Dice) -> Vec<Value> {
    super::use_grants("policy", "podsecuritypolicies", dice)
}

/// Writes defaults down, turns lists around, and splits ranges.
pub(super) fn respell(object: &mut Value, dice: &mut Dice) {
    let spec = &mut object["spec"];
    spell_default(spec, "privileged", &json!(false), dice);
    spell_default(spec, "hostPID", &json!(false), dice);
    spell_default(spec, "allowPrivilegeEscalation", &json!(true), dice);
    spell_default(spec, "allowedCapabilities", &json!([]), dice);
    reverse_lists(
        spec,
        &["volumes", "allowedCapabilities", "requiredDropCapabilities", "allowedUnsafeSysctls", "forbiddenSysctls"],
    );
    if spec["runAsUser"]["ranges"][0] == json!({"min": 1_000, "max": 6_000}) {
        spec["runAsUser"]["ranges"] = json!([{"min": 1_000, "max": 1_999}, {"min": 2_000, "max": 6_000}]);
    }
}

/// Changes a field.
pub(super) fn change(object: &mut Value, dice: &mut Dice) {
    set(&mut object["spec"], &FIELDS, dice);
}
