//! Conditions of policies: CEL expressions of type bool over the variables of patterns.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use bailiwick_cel::{
    Environment, ExpectedType, ExpressionError, ExpressionScope, Fail, FieldReads, FieldStep, Names, Program, Type,
    Value, compiled,
};
use bailiwick_codes as codes;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink, nearest};

use super::{Data, Fill, Target, Variable, VariableType, Variables};

/// The minor whose functions a condition can call: the newest known one.
const MINOR: u32 = 37;

/// The most steps of a condition, as for an expression of an admission policy.
const STEPS: u64 = 1_000_000;

/// The row of an account as a map, for names that are no CEL identifiers.
const ACCOUNT: &str = "account";

/// The names of types, as in `type(tier) == string`.
const TYPES: [&str; 10] = ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// The values of the target.
const TARGET: &str = "target";

/// The condition of an item.
#[derive(Debug)]
pub struct Condition {
    program: Program,
    /// The names that the expression reads.
    reads: Vec<String>,
    /// The location of the expression.
    pub origin: Origin,
}

/// The reason for a failed evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionFailure(String);

impl std::fmt::Display for ConditionFailure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ConditionFailure {}

/// The names in a condition.
#[derive(Debug, Clone, Copy)]
pub struct ConditionScope<'s> {
    /// The columns of the accounts and the variables of loops; none without accounts.
    pub variables: Option<&'s Variables>,
    /// The targets of the policy.
    pub targets: &'s [Target],
}

impl Condition {
    /// Reads a condition and checks its names and types.
    pub fn link(text: &Spanned<String>, scope: ConditionScope<'_>, sink: &mut Sink) -> Option<Self> {
        let refused = |message: String| Diagnostic::error(codes::INVALID_CONDITION, message).at(text.origin);
        let names = scope.names();
        let bound = names.keys().map(String::as_str).collect();
        let program = Program::compile(text, &Names { minor: MINOR, bound, ..Names::default() });
        let types = ExpressionScope { minor: MINOR, bound: names, ..ExpressionScope::default() };
        let mut reads = FieldReads::new();
        let is_read = program.add_reads(&BTreeMap::new(), &mut reads);
        if let Some(unknown) = reads.keys().find_map(|path| scope.unknown(path)) {
            sink.push(refused(format!("there is no variable `{}`", unknown.name)).help(unknown.help));
            return None;
        }
        match compiled(text, &types, ExpectedType::Bool) {
            Err(ExpressionError::Syntax(why) | ExpressionError::Meaning(why)) => {
                let help = scope.help(&why);
                // The messages of the compiler are about the API server.
                let why = why.replace("and the API server needs", "and a condition needs");
                sink.push(refused("this condition is invalid".to_owned()).note(why).help(help));
                return None;
            }
            Ok(_) if !is_read || program.problem().is_some() => {
                let why = program.problem().map(str::to_owned);
                let diagnostic = refused("this condition cannot be evaluated here".to_owned());
                let diagnostic = why.into_iter().fold(diagnostic, Diagnostic::note);
                sink.push(
                    diagnostic.help("use operators, `in`, `size`, `has`, `all`, `exists`, and functions of texts"),
                );
                return None;
            }
            Ok(_) => {}
        }
        let first = |path: &Vec<FieldStep>| path.first().and_then(FieldStep::name).map(str::to_owned);
        let mut reads: Vec<String> = reads.keys().filter_map(first).collect();
        reads.dedup();
        Some(Self { program, reads, origin: text.origin })
    }

    /// Returns whether the condition holds for some values.
    ///
    /// # Errors
    /// The evaluation fails, for instance because the expression compares an absent value.
    pub fn holds(&self, from: Fill<'_>) -> Result<bool, ConditionFailure> {
        self.holds_within(&Cell::new(STEPS), from)
    }

    /// Returns whether the condition holds, and takes the steps of the evaluation from the given number.
    ///
    /// # Errors
    /// The evaluation fails, or no steps are left.
    pub fn holds_within(&self, steps: &Cell<u64>, from: Fill<'_>) -> Result<bool, ConditionFailure> {
        static NO_VARIABLES: BTreeMap<String, Program> = BTreeMap::new();
        let budget = STEPS.min(steps.get());
        let mut environment = Environment::new(&NO_VARIABLES, budget);
        environment.bound = self.reads.iter().map(|name| (name.as_str(), value_of(name, from))).collect();
        let outcome = self.program.evaluate(&environment);
        steps.set(steps.get().saturating_sub(budget.saturating_sub(environment.budget())));
        match outcome {
            Ok(Value::Bool(truth)) => Ok(truth),
            Ok(_) => Err(ConditionFailure("it is neither true nor false".to_owned())),
            Err(_) if steps.get() == 0 => {
                Err(ConditionFailure("the conditions take too many steps for all accounts".to_owned()))
            }
            Err(Fail::Error(why) | Fail::Unknown(why)) => Err(ConditionFailure(why)),
        }
    }
}

/// Returns the names of the targets of an item: all targets without a condition, otherwise the targets for which the
/// condition holds. Reports an invalid condition, and a condition that fails on a target.
pub fn targets_of_item(when: Option<&Spanned<String>>, targets: &[Target], sink: &mut Sink) -> BTreeSet<String> {
    let Some(when) = when else { return targets.iter().map(|target| target.name.clone()).collect() };
    let Some(condition) = Condition::link(when, ConditionScope { variables: None, targets }, sink) else {
        return BTreeSet::new();
    };
    let mut found = BTreeSet::new();
    for target in targets {
        match condition.holds(Fill::from_target(target)) {
            Ok(true) => _ = found.insert(target.name.clone()),
            Ok(false) => {}
            Err(failure) => {
                let message = format!("this condition fails on the target `{}`", target.name);
                let diagnostic = Diagnostic::error(codes::FAILED_CONDITION, message).at(when.origin);
                sink.push(diagnostic.note(failure.to_string()).help("compare values of one type"));
            }
        }
    }
    found
}

fn value_of(name: &str, from: Fill<'_>) -> Value {
    if let Some(value) = from.own_value(name) {
        return to_cel(&value);
    }
    match name {
        TARGET => {
            let known = from.target.variable_names();
            Value::of_entries(known.filter_map(|key| Some((key, to_cel(&from.target.variable(key)?)))))
        }
        ACCOUNT => {
            let account = from.account.into_iter();
            let columns = account.flat_map(|account| account.columns().iter().zip(account.values()));
            Value::of_entries(columns.map(|(column, value)| (&**column, to_cel(&value.to_data()))))
        }
        _ => Value::Null,
    }
}

fn to_cel(data: &Data) -> Value {
    match data {
        Data::Null => Value::Null,
        Data::Bool(truth) => Value::Bool(*truth),
        Data::Int(number) => Value::Int(*number),
        Data::Float(number) => Value::Double(*number),
        Data::Str(text) => Value::String(text.clone()),
        Data::List(items) => Value::list(items.iter().map(to_cel).collect()),
        Data::Map(entries) => Value::of_entries(entries.iter().map(|(key, value)| (&**key, to_cel(value)))),
    }
}

/// A name that no policy declares.
struct UnknownName {
    name: String,
    help: String,
}

impl ConditionScope<'_> {
    /// Returns the types of the names.
    fn names(&self) -> BTreeMap<String, Type> {
        let any = || Type::Map(Type::String.into(), Type::Dyn.into());
        let own = self.variables.into_iter().flatten().map(|(name, variable)| (name.clone(), type_of(variable)));
        let account = self.variables.map(|_| (ACCOUNT.to_owned(), any()));
        // A declared variable wins over `account`, and `target` is always the target.
        let first = account.into_iter();
        first.chain(own).chain([(TARGET.to_owned(), any())]).collect()
    }

    /// Returns the first name of a path that is not declared.
    fn unknown(&self, path: &[FieldStep]) -> Option<UnknownName> {
        let names: Vec<&str> = path.iter().map_while(FieldStep::name).collect();
        let (first, rest) = names.split_first()?;
        let own = || self.variables.into_iter().flat_map(Variables::keys).map(String::as_str);
        let found = match (*first, rest.first()) {
            (TARGET, Some(key)) => {
                let is_known = self.targets.iter().all(|target| target.variable(key).is_some());
                let known = self.targets.first().into_iter().flat_map(Target::variable_names);
                (!is_known).then(|| (format!("target.{key}"), nearest(key, known).map(|near| format!("target.{near}"))))
            }
            (ACCOUNT, Some(key)) if !own().any(|name| name == ACCOUNT) => {
                let is_known = own().any(|name| name == *key);
                (!is_known).then(|| ((*key).to_owned(), nearest(key, own()).map(str::to_owned)))
            }
            (TARGET | ACCOUNT, _) => None,
            (name, _) if TYPES.contains(&name) => None,
            (name, field) => match self.variables.and_then(|variables| variables.get(name)) {
                None => Some((name.to_owned(), nearest(name, own().chain([TARGET])).map(str::to_owned))),
                Some(variable) => field.filter(|_| variable.fields.is_some()).and_then(|field| {
                    let fields = || variable.fields.iter().flat_map(Variables::keys).map(String::as_str);
                    let near = nearest(field, fields()).map(|near| format!("{name}.{near}"));
                    (!fields().any(|known| known == *field)).then(|| (format!("{name}.{field}"), near))
                }),
            },
        };
        let (name, near) = found?;
        let all = || {
            let of_target = self.targets.first().into_iter().flat_map(Target::variable_names);
            let of_target: Vec<String> = of_target.map(|key| format!("{TARGET}.{key}")).collect();
            let names = own().map(str::to_owned).chain(of_target);
            format!("there are: {}", names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
        };
        let help = near.map_or_else(all, |near| format!("did you mean `{near}`?"));
        Some(UnknownName { name, help })
    }

    /// Returns the remedy for a message of the compiler: the name that was probably meant.
    fn help(&self, why: &str) -> String {
        let own = self.variables.into_iter().flat_map(Variables::keys).map(String::as_str);
        let near = why.split('`').nth(1).and_then(|name| nearest(name, own.chain([TARGET])));
        let example = if self.variables.is_some() { "tier == 'gold'" } else { "target.minor >= 30" };
        near.map_or_else(
            || format!("write a CEL expression of type bool, such as `{example}`"),
            |near| format!("did you mean `{near}`?"),
        )
    }
}

fn type_of(variable: &Variable) -> Type {
    match variable.r#type {
        _ if variable.optional => Type::Dyn,
        VariableType::String | VariableType::Date => Type::String,
        VariableType::Integer => Type::Int,
        VariableType::Boolean => Type::Bool,
        VariableType::Map | VariableType::Record => Type::Map(Type::String.into(), Type::Dyn.into()),
        VariableType::List => Type::List(variable.of.as_deref().map_or(Type::Dyn, type_of).into()),
    }
}
