//! Every risk rule, once: condition, severity, message and remedy.

mod accounts;
mod bindings;
mod cluster;
mod data;
mod dead;
mod edge;
mod escalation;
mod network;
mod tenants;
mod workloads;

use super::RiskSeverity;
use super::objects::{OfBinding, OfRole, OfSubject};
use crate::clouds::AWS_AUTH;
use crate::codes;
use crate::symbols::Symbol;
use crate::world::World;
use bailiwick_yaml::diag::Code;
pub use edge::{EdgeKind, EdgeTarget, RiskEdge};

/// A row of the table: a dangerous permission with its severities.
#[derive(Debug)]
pub struct RiskRule {
    /// The short id, such as `E001`.
    pub id: &'static str,
    /// The ids of rules included in this one.
    pub also: &'static [&'static str],
    /// The code of the rule, the name for accepting it.
    pub code: Code,
    /// The severity cluster-wide; none if impossible.
    pub cluster: Option<RiskSeverity>,
    /// The severity within a namespace; none if impossible.
    pub namespace: Option<RiskSeverity>,
    /// The remedy.
    pub help: &'static str,
    /// The message after the name of the subject. `{role}` and `{what}` are replaced by the found ones, and the text
    /// in brackets by names.
    pub predicate: &'static str,
    /// The power of an account with the condition met cluster-wide, without a limit by names: a verb in the third
    /// person with its object. None for a rule without power over others.
    pub power: Option<&'static str>,
    /// The reach of the permission.
    pub reach: PermissionReach,
    /// The edges of the graph of permissions.
    edges: [Option<RiskEdge>; MOST_EDGES],
    pub(super) when: When,
    pub(super) named: NameEffect,
    /// Stronger rules. Beside them this one is not reported.
    pub(super) behind: &'static [&'static str],
    /// The severity in [`CONTROL_PLANE`], if it differs from other namespaces.
    in_control_plane: Option<RiskSeverity>,
    /// True when other namespaces do not matter.
    elsewhere: bool,
    /// Required objects beside roles and bindings.
    pub(super) needs: Needs,
}

/// The most edges of a rule.
const MOST_EDGES: usize = 3;

/// Objects required for a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Roles and bindings are enough.
    Nothing,
    /// A service account with an identity in a cloud, in the scope of the rule.
    CloudAccount,
    /// The ConfigMap with the users of AWS, or a rule with its name.
    AwsAuth,
}

/// The pods and Secrets within the power of a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionReach {
    /// Neither pods nor Secrets of others: changed limits of pods, delegation of own permissions, or no escalation.
    /// more.
    None,
    /// Running code in pods of others, with the permissions of the pods and their nodes.
    Pods,
    /// Secrets of others.
    Secrets,
}

/// The id of the rule about full authority.
pub(super) const FULL_AUTHORITY: &str = "E001";

/// The ids of the rules about single verbs on every resource. The first one replaces other findings of the same rules
/// of roles.
pub(super) const NEARLY_FULL: [&str; 2] = ["E024", "S007"];

/// The id of the rule about roles of the baseline. Its findings take the place of other findings about these roles.
pub(super) const BASELINE_ROLE: &str = "B019";

/// The namespaces of the control plane.
pub(super) const CONTROL_PLANE: [&str; 2] = ["kube-node-lease", "kube-system"];

/// The trigger of a rule.
#[derive(Debug, Clone, Copy)]
pub(super) enum When {
    /// A permission of a holder.
    Holds(&'static str),
    /// A bound role with this property.
    Role(OfRole),
    /// A binding is so.
    Binding(OfBinding),
    /// A subject has so many roles.
    Subject(OfSubject),
    /// A given object of the default policy without a part that the server adds again.
    Default,
    /// A given binding to a role of the baseline with other findings.
    BaselineRole,
    /// A service account with high or critical findings is so.
    Accounts(AccountCheck),
    /// A subject of a tenant holds something outside the namespaces of the tenant.
    Tenants(TenantCheck),
}

/// The surroundings of a service account with high or critical findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccountCheck {
    /// A workload runs as the account, with a token.
    Runs,
    /// Users with access to pods of its namespace lack its permissions.
    AboveUsers,
}

/// The question of a rule about tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TenantCheck {
    /// Permissions in a namespace of another tenant.
    ReachesTenant,
    /// Permissions in the whole cluster.
    ReachesCluster,
    /// Bindings missing in the other tenants of the Tenancy, and the other way round.
    UnlikeOthers,
}

/// The effect of names in a rule on the severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameEffect {
    /// One step less.
    Step,
    /// The named object is not the intended one.
    Void,
    /// This instead.
    To(RiskSeverity),
    /// The permissions of the named roles.
    Roles,
    /// The permissions of the named users.
    Users,
    /// The permissions of the named groups.
    Groups,
    /// The permissions of the service accounts of these names.
    Accounts,
    /// The use of certificates of these signers.
    Signers,
    /// The limits of pods under the named pod security policies or security context constraints.
    Policies,
}

impl RiskRule {
    /// Creates a rule without a remedy, reach and power. `levels` has the letters of the severities cluster-wide and
    /// in a namespace, such as `C/H` and `M/-`.
    const fn new(id: &'static str, code: Code, levels: &str, when: When, predicate: &'static str) -> Self {
        let (cluster, namespace) = match levels.as_bytes() {
            [cluster, b'/', namespace] => (level(*cluster), level(*namespace)),
            _ => (None, None),
        };
        Self {
            id,
            also: &[],
            code,
            cluster,
            namespace,
            help: "",
            predicate,
            power: None,
            reach: PermissionReach::None,
            edges: [None; MOST_EDGES],
            when,
            named: NameEffect::Step,
            behind: &[],
            in_control_plane: None,
            elsewhere: true,
            needs: Needs::Nothing,
        }
    }

    const fn help(mut self, remedy: &'static str) -> Self {
        self.help = remedy;
        self
    }

    const fn named(mut self, named: NameEffect) -> Self {
        self.named = named;
        self
    }

    const fn power(mut self, words: &'static str) -> Self {
        self.power = Some(words);
        self
    }

    const fn reach(mut self, reach: PermissionReach) -> Self {
        self.reach = reach;
        self
    }

    /// Adds an edge for all of the condition.
    const fn edge(self, kind: EdgeKind, to: EdgeTarget) -> Self {
        self.edge_of(RiskEdge { kind, to, verbs: &[], resources: &[] })
    }

    /// Adds an edge for the resources of the condition alone.
    const fn edge_by(self, kind: EdgeKind, to: EdgeTarget, resources: &'static [&'static str]) -> Self {
        self.edge_of(RiskEdge { kind, to, verbs: &[], resources })
    }

    const fn edge_of(mut self, edge: RiskEdge) -> Self {
        self.edges = match self.edges {
            [None, second, third] => [Some(edge), second, third],
            [first, None, third] => [first, Some(edge), third],
            [first, second, _] => [first, second, Some(edge)],
        };
        self
    }

    const fn also(mut self, ids: &'static [&'static str]) -> Self {
        self.also = ids;
        self
    }

    const fn behind(mut self, rules: &'static [&'static str]) -> Self {
        self.behind = rules;
        self
    }

    const fn in_control_plane(mut self, severity: RiskSeverity) -> Self {
        self.in_control_plane = Some(severity);
        self
    }

    const fn nowhere_else(mut self) -> Self {
        self.elsewhere = false;
        self
    }

    const fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    /// Whether the required objects of the rule are present.
    pub(super) fn has_what_it_needs(&self, world: &World) -> bool {
        let names_it = |rule: &crate::rules::InternedRule| {
            let is_it = |name: &Symbol| world.symbols.text(*name) == AWS_AUTH;
            let is_config_map = |resource: &Symbol| world.symbols.text(*resource) == "configmaps";
            rule.names().iter().any(is_it) && rule.resources().iter().any(is_config_map)
        };
        match self.needs {
            Needs::Nothing => true,
            Needs::CloudAccount => world.clouds.has_accounts(),
            Needs::AwsAuth => {
                world.clouds.has_aws_auth || world.lists.all().iter().flat_map(|list| list.iter()).any(names_it)
            }
        }
    }

    /// Returns the severity cluster-wide, in a namespace of the control plane, or in any other.
    pub(super) fn level(&self, in_namespace: bool, in_control_plane: bool) -> Option<RiskSeverity> {
        match (in_namespace, in_control_plane) {
            (false, _) => self.cluster,
            (true, true) => self.in_control_plane.or(self.namespace),
            (true, false) => self.namespace.filter(|_| self.elsewhere),
        }
    }

    /// Iterates over the edges of the graph of permissions.
    pub fn edges(&self) -> impl Iterator<Item = &RiskEdge> {
        self.edges.iter().flatten()
    }

    /// Whether the compiler applies a rule to written policies and manifests: its findings are warnings there.
    pub fn is_applied_while_compiling(&self) -> bool {
        [codes::DEAD_URL, codes::DEAD_VERB, codes::UNSERVED_RESOURCE].contains(&self.code)
    }

    /// Whether the rule counts the bindings of a subject in all namespaces.
    pub fn counts_bindings(&self) -> bool {
        matches!(self.when, When::Subject(_))
    }

    /// Returns the worst severity of its findings by themselves; none for a rule without one.
    pub fn worst(&self) -> Option<RiskSeverity> {
        self.cluster.max(self.namespace).max(self.in_control_plane)
    }

    /// Whether the rule is about tenants, and its findings stand for others.
    pub fn is_about_tenants(&self) -> bool {
        matches!(self.when, When::Tenants(_))
    }

    /// Returns the required permission as the condition's text; none for rules about objects.
    pub fn condition(&self) -> Option<&'static str> {
        match self.when {
            When::Holds(text) => Some(text),
            When::Role(_)
            | When::Binding(_)
            | When::Subject(_)
            | When::Default
            | When::BaselineRole
            | When::Accounts(_)
            | When::Tenants(_) => None,
        }
    }
}

/// Returns the severity of a letter.
const fn level(letter: u8) -> Option<RiskSeverity> {
    match letter {
        b'C' => Some(RiskSeverity::Critical),
        b'H' => Some(RiskSeverity::High),
        b'M' => Some(RiskSeverity::Medium),
        b'L' => Some(RiskSeverity::Low),
        b'I' => Some(RiskSeverity::Info),
        _ => None,
    }
}

/// Declares a rule about the permissions of holders.
const fn holds(
    id: &'static str,
    code: Code,
    levels: &str,
    condition: &'static str,
    predicate: &'static str,
) -> RiskRule {
    RiskRule::new(id, code, levels, When::Holds(condition), predicate)
}

/// Returns every rule, family by family.
pub fn all() -> impl Iterator<Item = &'static RiskRule> {
    let families = [
        escalation::RULES,
        data::RULES,
        workloads::RULES,
        cluster::RULES,
        network::RULES,
        bindings::RULES,
        accounts::RULES,
        tenants::RULES,
        dead::RULES,
    ];
    families.into_iter().flatten()
}

/// Returns the rule with an id.
pub fn of_id(id: &str) -> Option<&'static RiskRule> {
    all().find(|rule| rule.id == id || rule.also.contains(&id))
}

/// Returns the rule with a code.
pub fn of_code(code: Code) -> Option<&'static RiskRule> {
    all().find(|rule| rule.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_remedy() {
        for rule in all() {
            assert!(!rule.help.is_empty(), "{}", rule.id);
        }
    }
}
