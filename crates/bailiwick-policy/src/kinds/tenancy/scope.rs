//! The variables of an item of a class: the columns of the accounts, and the variables of loops.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Sink, nearest};

use super::{NamespaceSpec, ProfileUse, RoleUse, TenantGrant};
use crate::kinds::objects::ObjectSpec;
use crate::kinds::shared::{LimitRangeSpec, QuotaSpec, ServiceAccountSpec};
use crate::model::{Condition, ConditionScope, Loop, Repetition, Target, Variable, VariableType, Variables};

/// The fields `for` and `when` of an item.
#[derive(Clone, Copy)]
pub(super) struct Repeated<'s> {
    each: Option<&'s Spanned<BTreeMap<String, String>>>,
    when: Option<&'s Spanned<String>>,
}

/// An item with the fields `for` and `when`.
pub(super) trait HasRepetition {
    /// Returns both fields.
    fn repeated(&self) -> Repeated<'_>;
}

macro_rules! have_repetitions {
    ($($item:ty),+) => {
        $(impl HasRepetition for $item {
            fn repeated(&self) -> Repeated<'_> {
                Repeated { each: self.each.as_ref(), when: self.when.as_ref() }
            }
        })+
    };
}

have_repetitions!(
    NamespaceSpec,
    ObjectSpec,
    ServiceAccountSpec,
    QuotaSpec,
    LimitRangeSpec,
    ProfileUse,
    RoleUse,
    TenantGrant
);

impl<'s> Repeated<'s> {
    pub(super) fn of(item: &'s impl HasRepetition) -> Self {
        item.repeated()
    }
}

/// The variables of an item, and its repetition.
#[derive(Debug, Clone)]
pub(super) struct ItemScope {
    pub(super) variables: Variables,
    loops: BTreeSet<String>,
    pub(super) repetition: Repetition,
}

impl ItemScope {
    /// Returns the scope of the columns of the accounts.
    pub(super) fn new(variables: &Variables) -> Self {
        Self { variables: variables.clone(), loops: BTreeSet::new(), repetition: Repetition::default() }
    }

    /// Returns the scope of an item; reports an invalid loop or condition.
    pub(super) fn of_item(&self, repeated: Repeated<'_>, targets: &[Target], sink: &mut Sink) -> Self {
        let mut own = self.clone();
        own.repetition = Repetition::default();
        if let Some(each) = repeated.each
            && let Some((name, list, element)) = self.element(each, sink)
        {
            own.variables.insert(name.clone(), element);
            own.loops.insert(name.clone());
            own.repetition.each = Some(Loop { name: name.as_str().into(), list: list.as_str().into() });
        }
        let scope = ConditionScope { variables: Some(&own.variables), targets };
        own.repetition.when = repeated.when.and_then(|when| Condition::link(when, scope, sink)).map(Arc::new);
        own
    }

    /// Returns the variable of a loop, with its list and the declaration of the elements.
    fn element(&self, each: &Spanned<BTreeMap<String, String>>, sink: &mut Sink) -> Option<(String, String, Variable)> {
        let mut refuse = |code, message: String, help: String| {
            sink.push(Diagnostic::error(code, message).at(each.origin).help(help));
            None
        };
        let mut entries = each.iter();
        let (Some((name, list)), None) = (entries.next(), entries.next()) else {
            let message = "a loop has one variable and one list".to_owned();
            return refuse(codes::INVALID_VALUE, message, "write `for: {stage: stages}`".to_owned());
        };
        if self.variables.contains_key(name) || name.starts_with("target.") {
            let message = format!("there is a variable `{name}` already");
            return refuse(codes::SHADOWED_VARIABLE, message, "give the variable of the loop another name".to_owned());
        }
        let Some(declared) = self.variables.get(list) else {
            let near = nearest(list, self.variables.keys().map(String::as_str));
            let help = near.map_or_else(
                || format!("declare it: `{list}: {{type: list, of: {{type: string}}}}` under `spec.variables`"),
                |near| format!("did you mean `{near}`?"),
            );
            return refuse(codes::UNKNOWN_VARIABLE, format!("there is no variable `{list}`"), help);
        };
        let Some(of) = declared.of.as_deref() else {
            let message = format!("the variable `{list}` is no list");
            return refuse(codes::INVALID_VALUE, message, "a loop goes over a variable of the type `list`".to_owned());
        };
        Some((name.clone(), list.clone(), of.clone()))
    }

    /// Returns the scope of items in every namespace: with the variables of loops that all namespaces have.
    pub(super) fn common(&self, namespaces: &[Self]) -> Self {
        let mut common = self.clone();
        let Some((first, others)) = namespaces.split_first() else { return common };
        for name in first.loops.iter().filter(|name| others.iter().all(|other| other.loops.contains(*name))) {
            common.variables.extend(first.variables.get(name).map(|variable| (name.clone(), variable.clone())));
            common.loops.insert(name.clone());
        }
        common
    }

    /// Whether a variable is the variable of a loop.
    pub(super) fn is_loop(&self, name: &str) -> bool {
        self.loops.contains(name)
    }

    /// Iterates over the variables of loops.
    pub(super) fn loops(&self) -> impl Iterator<Item = &String> {
        self.loops.iter()
    }

    /// Returns the names of the list variables, with the fields of records that are lists.
    pub(super) fn lists(&self) -> BTreeSet<String> {
        let is_list = |variable: &Variable| variable.r#type == VariableType::List;
        let mut lists = BTreeSet::new();
        for (name, variable) in &self.variables {
            lists.extend(is_list(variable).then(|| name.clone()));
            let fields = variable.fields.iter().flatten().filter(|(_, field)| is_list(field));
            lists.extend(fields.map(|(field, _)| format!("{name}.{field}")));
        }
        lists
    }
}
