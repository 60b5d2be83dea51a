//! The levels of namespaces that Pod Security admission does not look at.

use crate::admission::level::Level;
use crate::admission::standards::labels::PodSecurityMode;
use crate::codes;
use crate::diag::{Diagnostic, Sink};
use crate::model::{Target, Unit};
use crate::yaml::NodeRef;

/// Reports a Namespace with a level above `privileged` that the target exempts from Pod Security admission.
pub fn check(target: &Target, unit: &Unit, root: NodeRef<'_>, sink: &mut Sink) {
    let name = &*unit.identity.name;
    let is_namespace = &*unit.identity.object_type.kind == "Namespace" && !unit.is_brought_in();
    if !is_namespace || !target.pod_security.exemptions.has_namespace(name) {
        return;
    }
    let label = |mode: PodSecurityMode| root.path(&["metadata", "labels", &mode.label()]).and_then(NodeRef::as_str);
    let mut levels = PodSecurityMode::ALL.into_iter().filter_map(label);
    let Some(level) = levels.find(|level| *level != Level::Privileged.name()) else { return };
    let message = format!("the namespace `{name}` has the level `{level}`, but `{}` exempts it", target.name);
    let told = Diagnostic::warning(codes::EXEMPT_FROM_LEVEL, message).at(unit.origin);
    let told = unit.account.into_iter().fold(told, |told, account| told.and(account, "for this account"));
    sink.push(
        told.help("remove the level or the exemption: Pod Security admission does not look at pods of the namespace")
            .note(format!("`podSecurity.exemptions.namespaces` of the target `{}`", target.name))
            .note(format!("in {}", unit.identity))
            .foldable(),
    );
}
