//! SecurityContextConstraints and the grants for their use.

use serde_json::{Value, json};

use super::{Field, reverse_lists, set, spell_default};
use crate::oracle::Dice;

const FIELDS: [Field; 18] = [
    ("priority", || vec![json!(5), json!(10), json!(-1), Value::Null]),
    ("users", || vec![json!([]), json!(["system:serviceaccount:a:s1"]), json!(["u1", "system:serviceaccount:b:s2"])]),
    ("groups", || vec![json!([]), json!(["system:authenticated"]), json!(["g1", "system:serviceaccounts:a"])]),
    ("allowPrivilegedContainer", || vec![json!(true), json!(false)]),
    ("allowHostNetwork", || vec![json!(true), json!(false)]),
    ("allowHostPorts", || vec![json!(true), json!(false)]),
    ("allowHostPID", || vec![json!(true), json!(false)]),
    ("allowHostDirVolumePlugin", || vec![json!(true), json!(false)]),
    ("allowPrivilegeEscalation", || vec![json!(true), json!(false), Value::Null]),
    ("volumes", || vec![json!(["*"]), json!(["configMap", "emptyDir", "secret"]), json!(["csi", "emptyDir"])]),
    ("allowedCapabilities", || vec![json!(["NET_BIND_SERVICE", "CHOWN"]), json!(["*"]), Value::Null]),
    ("requiredDropCapabilities", || vec![json!(["KILL", "NET_RAW"]), json!(["ALL"]), Value::Null]),
    ("defaultAddCapabilities", || vec![json!(["CHOWN"]), Value::Null]),
    ("runAsUser", || {
        vec![
            json!({"type": "RunAsAny"}),
            json!({"type": "MustRunAsNonRoot"}),
            json!({"type": "MustRunAsRange"}),
            json!({"type": "MustRunAs", "uid": 1_000}),
        ]
    }),
    ("seLinuxContext", || vec![json!({"type": "RunAsAny"}), json!({"type": "MustRunAs"})]),
    ("fsGroup", || vec![json!({"type": "RunAsAny"}), json!({"type": "MustRunAs"})]),
    ("seccompProfiles", || vec![json!(["*"]), json!(["runtime/default"]), Value::Null]),
    ("readOnlyRootFilesystem", || vec![json!(true), json!(false)]),
];

/// Returns two or three constraints.
pub(super) fn constraints(dice: &mut Dice) -> Vec<Value> {
    let count = 2 + dice.below(2);
    let constraints = |number: usize| {
        let mut object = json!({
            "apiVersion": "security.openshift.io/v1", "kind": "SecurityContextConstraints",
            "metadata": {"name": format!("x{number}")},
            "allowPrivilegedContainer": false, "allowHostNetwork": false, "allowHostPorts": false,
            "allowHostPID": false, "allowHostIPC": false, "allowHostDirVolumePlugin": false,
            "readOnlyRootFilesystem": false, "users": [], "groups": [], "volumes": ["*"],
            "runAsUser": {"type": "RunAsAny"}, "seLinuxContext": {"type": "RunAsAny"},
            "fsGroup": {"type": "RunAsAny"}, "supplementalGroups": {"type": "RunAsAny"},
        });
        for _ in 0..dice.below(8) {
            set(&mut object, &FIELDS, dice);
        }
        object
    };
    (0..count).map(constraints).collect()
}

/// Returns roles for the use of constraints, and their bindings.
pub(super) fn grants(dice: &mut Dice) -> Vec<Value> {
    super::use_grants("security.openshift.io", "securitycontextconstraints", dice)
}

/// Writes defaults down, and turns lists around.
pub(super) fn respell(object: &mut Value, dice: &mut Dice) {
    spell_default(object, "allowPrivilegeEscalation", &json!(true), dice);
    spell_default(object, "priority", &json!(0), dice);
    spell_default(object, "userNamespaceLevel", &json!("AllowHostLevel"), dice);
    reverse_lists(object, &["users", "groups", "volumes", "allowedCapabilities", "requiredDropCapabilities"]);
}

/// Changes a field; every third time a field that decides about the choice of constraints.
pub(super) fn change(object: &mut Value, dice: &mut Dice) {
    let fields = if dice.chance(33) { &FIELDS[..3] } else { &FIELDS[..] };
    set(object, fields, dice);
}
