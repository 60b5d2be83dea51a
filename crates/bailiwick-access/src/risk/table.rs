//! Every rule, once: what it looks for, how bad it is, what to say and what to do.

mod accounts;
mod bindings;
mod cluster;
mod data;
mod dead;
mod escalation;
mod network;
mod tenants;
mod workloads;

use super::Severity;
use super::objects::{OfBinding, OfRole, OfSubject};
use crate::clouds::AWS_AUTH;
use crate::codes;
use crate::symbols::Symbol;
use crate::world::World;
use bailiwick_yaml::diag::Code;

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Its id in the catalogue; from D018 on an id that the catalogue does not have.
    pub id: &'static str,
    /// The ids of rules of the catalogue that are a part of this one.
    pub also: &'static [&'static str],
    /// Its name, by which policies accept it; with its title and why it matters.
    pub code: Code,
    /// How bad it is cluster-wide; none where it cannot be.
    pub cluster: Option<Severity>,
    /// How bad it is within a namespace; none where it cannot be.
    pub namespace: Option<Severity>,
    /// What to do about it.
    pub help: &'static str,
    /// What is said of whoever it concerns, behind the name. `{role}` and `{what}` stand for what was found, and names
    /// take the place of what is in brackets.
    pub says: &'static str,
    /// The power of an account that meets the condition cluster-wide, without a limit by names: a verb in the third person with
    /// its object. None where the rule gives no power over others.
    pub power: Option<&'static str>,
    /// What one comes to by it.
    pub reach: Reach,
    pub(super) when: When,
    pub(super) named: Named,
    /// Rules that say more, beside which this one says nothing.
    pub(super) behind: &'static [&'static str],
    /// How bad it is in [`CONTROL_PLANE`], where that differs from other namespaces.
    in_control_plane: Option<Severity>,
    /// True when other namespaces do not matter.
    elsewhere: bool,
    /// Objects beside roles and bindings that have to be there.
    pub(super) needs: Needs,
}

/// Objects without which a rule says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Roles and bindings are enough.
    Nothing,
    /// A service account with an identity in a cloud, where the rule is met.
    CloudAccount,
    /// The ConfigMap with the users of AWS, or a rule that names it.
    AwsAuth,
}

/// What one comes to by what one holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Neither pods nor Secrets of others: it loosens what pods may be, hands on what one holds already, or is no way to become
    /// more.
    None,
    /// Running something in pods of others, with what they and their nodes hold.
    Pods,
    /// Secrets of others.
    Secrets,
}

/// The id of the rule about full authority.
pub(super) const FULL_AUTHORITY: &str = "E001";

/// The ids of the rules about single verbs on every resource. The first that is found stands for what else the same rules of
/// roles open.
pub(super) const NEARLY_FULL: [&str; 2] = ["E024", "S007"];

/// The id of the rule about roles of the baseline. Its findings take the place of other findings about these roles.
pub(super) const BASELINE_ROLE: &str = "B019";

/// The namespaces of the control plane.
pub(super) const CONTROL_PLANE: [&str; 2] = ["kube-node-lease", "kube-system"];

/// When a rule has something to say.
#[derive(Debug, Clone, Copy)]
pub(super) enum When {
    /// Somebody holds this.
    Holds(&'static str),
    /// A role is applied that is so.
    Role(OfRole),
    /// A binding is so.
    Binding(OfBinding),
    /// A subject has so many roles.
    Subject(OfSubject),
    /// An object of the default policy is given without something that the server adds again.
    Default,
    /// A role of the baseline is given by a binding, and other rules have something to say of it.
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
    /// Users who can create pods in its namespace lack what it has.
    AboveUsers,
}

/// The question of a rule about tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TenantCheck {
    /// Permissions in a namespace of another tenant.
    ReachesTenant,
    /// Permissions in the whole cluster.
    ReachesCluster,
    /// Bindings that the other tenants of the Tenancy lack, and the other way round.
    UnlikeOthers,
}

/// What names in a rule do to the severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// One step less.
    Step,
    /// What is named is not what is meant.
    Void,
    /// This instead.
    To(Severity),
    /// What the named roles grant.
    Roles,
    /// What the named users hold.
    Users,
    /// What the named groups hold.
    Groups,
    /// What the service accounts of these names hold.
    Accounts,
    /// What certificates of these signers are good for.
    Signers,
    /// What the named pod security policies or security context constraints let pods do.
    Policies,
}

impl Rule {
    const fn new(
        id: &'static str,
        code: Code,
        levels: &str,
        when: When,
        says: &'static str,
        help: &'static str,
    ) -> Self {
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
            help,
            says,
            power: None,
            reach: Reach::None,
            when,
            named: Named::Step,
            behind: &[],
            in_control_plane: None,
            elsewhere: true,
            needs: Needs::Nothing,
        }
    }

    const fn named(mut self, named: Named) -> Self {
        self.named = named;
        self
    }

    const fn power(mut self, words: &'static str) -> Self {
        self.power = Some(words);
        self
    }

    const fn reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
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

    const fn in_control_plane(mut self, severity: Severity) -> Self {
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

    /// True where the objects are that the rule needs.
    pub(super) fn has_what_it_needs(&self, world: &World) -> bool {
        let names_it = |rule: &crate::rules::Rule| {
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

    /// How bad it is cluster-wide, in a namespace of the control plane, or in any other.
    pub(super) fn level(&self, in_namespace: bool, in_control_plane: bool) -> Option<Severity> {
        match (in_namespace, in_control_plane) {
            (false, _) => self.cluster,
            (true, true) => self.in_control_plane.or(self.namespace),
            (true, false) => self.namespace.filter(|_| self.elsewhere),
        }
    }

    /// True for a rule that the compiler applies where a policy or manifest is written: its findings are warnings there.
    pub fn is_applied_while_compiling(&self) -> bool {
        [codes::DEAD_URL, codes::DEAD_VERB, codes::UNSERVED_RESOURCE].contains(&self.code)
    }

    /// Whether the rule is about tenants, and its findings stand for others.
    pub fn is_about_tenants(&self) -> bool {
        matches!(self.when, When::Tenants(_))
    }

    /// What somebody has to hold for it, as the condition's text; none for rules about objects.
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

/// The letters of the catalogue.
const fn level(letter: u8) -> Option<Severity> {
    match letter {
        b'C' => Some(Severity::Critical),
        b'H' => Some(Severity::High),
        b'M' => Some(Severity::Medium),
        b'L' => Some(Severity::Low),
        b'I' => Some(Severity::Info),
        _ => None,
    }
}

/// A rule about what somebody holds.
const fn holds(
    id: &'static str,
    code: Code,
    levels: &str,
    condition: &'static str,
    says: &'static str,
    help: &'static str,
) -> Rule {
    Rule::new(id, code, levels, When::Holds(condition), says, help)
}

/// Every rule, family by family.
pub fn all() -> impl Iterator<Item = &'static Rule> {
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

/// The rule with a catalogue id.
pub fn of_id(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id || rule.also.contains(&id))
}

/// The rule with a code.
pub fn of_code(code: Code) -> Option<&'static Rule> {
    all().find(|rule| rule.code == code)
}
