//! The targets of each account.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Diagnostic, FileId, Files, Origin, Sink, nearest};
use globset::GlobMatcher;

use super::AccountList;
use crate::model::{Account, AccountTargets, AccountValue, Accounts, Data, Target, VariableType, Variables};
use crate::source::{cell_place, glob};

/// The parts of a policy that decide the targets of its accounts.
pub(super) struct MembershipInputs<'i> {
    pub(super) list: &'i AccountList,
    pub(super) variables: &'i Variables,
    pub(super) targets: &'i [Target],
    /// The targets of the files with accounts of some targets alone.
    pub(super) of_files: &'i BTreeMap<FileId, BTreeSet<String>>,
}

impl MembershipInputs<'_> {
    /// Returns the targets of each account; reports globs that fit no target.
    pub(super) fn read(&self, accounts: &Accounts, files: &Files, sink: &mut Sink) -> AccountTargets {
        let inputs = self;
        let mut membership = AccountTargets::default();
        let column = inputs.column(sink);
        if column.is_none() && inputs.of_files.is_empty() {
            return membership;
        }
        let mut known: BTreeMap<(Option<FileId>, String), usize> = BTreeMap::new();
        for account in accounts.iter() {
            let file = Some(account.origin().file).filter(|file| inputs.of_files.contains_key(file));
            let mut cell = String::new();
            column.and_then(|column| account.get(column)).into_iter().for_each(|value| value.write_json(&mut cell));
            let number = match known.get(&(file, cell.clone())) {
                Some(number) => *number,
                None => {
                    let before = sink.len();
                    membership.sets.push(inputs.targets_of(account, column, files, sink));
                    let number = membership.sets.len() - 1;
                    // Each cell with a mistake is reported at its own place.
                    if sink.len() == before {
                        known.insert((file, cell), number);
                    }
                    number
                }
            };
            membership.sets_of_rows.push(number);
        }
        membership
    }

    /// Returns the column with targets; reports a name that is none.
    fn column(&self, sink: &mut Sink) -> Option<&str> {
        let name = self.list.targets.as_ref()?;
        let is_text = |kind: VariableType| kind == VariableType::String;
        let fits = self.variables.get(name.as_str()).is_some_and(|variable| {
            is_text(variable.r#type) || variable.of.as_deref().is_some_and(|of| is_text(of.r#type))
        });
        if fits {
            return Some(name);
        }
        let near = nearest(name, self.variables.keys().map(String::as_str));
        let help = near.filter(|near| *near != name.value).map_or_else(
            || format!("declare it: `{}: {{type: list, of: {{type: string}}}}` under `spec.variables`", name.value),
            |near| format!("did you mean `{near}`?"),
        );
        let message = format!("`{}` is no column with the names of targets", name.value);
        sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(name.origin).help(help));
        None
    }

    fn targets_of(
        &self,
        account: Account<'_>,
        column: Option<&str>,
        files: &Files,
        sink: &mut Sink,
    ) -> BTreeSet<String> {
        let on: Vec<&str> = match self.of_files.get(&account.origin().file) {
            Some(own) => own.iter().map(String::as_str).collect(),
            None => self.targets.iter().map(|target| target.name.as_str()).collect(),
        };
        let globs = column.map_or_else(Vec::new, |column| texts(account, column));
        if globs.is_empty() {
            return on.into_iter().map(str::to_owned).collect();
        }
        let place = |column| cell_place(files, account.origin(), column).unwrap_or(account.origin());
        let mut found = BTreeSet::new();
        for written in &globs {
            let matcher = glob::compile(written, false).ok().map(|glob| glob.compile_matcher());
            let fits = |name: &&&str| matcher.as_ref().is_some_and(|own: &GlobMatcher| own.is_match(name));
            let matching: Vec<&&str> = on.iter().filter(fits).collect();
            if matching.is_empty() {
                sink.push(unknown_target(written, &on, column.map_or(account.origin(), place)));
            }
            found.extend(matching.into_iter().map(|name| (*name).to_owned()));
        }
        found
    }
}

/// Returns the texts of a column: one text, or the items of a list.
fn texts(account: Account<'_>, column: &str) -> Vec<String> {
    let text = |data: &Data| data.as_str().map(str::to_owned);
    match account.get(column) {
        Some(AccountValue::Text("")) | None => Vec::new(),
        Some(AccountValue::Text(text)) => vec![text.to_owned()],
        Some(AccountValue::Data(Data::List(items))) => items.iter().filter_map(text).collect(),
        Some(_) => Vec::new(),
    }
}

fn unknown_target(glob: &str, targets: &[&str], origin: Origin) -> Diagnostic {
    let help = match nearest(glob, targets.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("its targets are: {}", targets.join(", ")),
    };
    Diagnostic::error(codes::UNKNOWN_TARGET, format!("no target of this policy matches `{glob}`")).at(origin).help(help)
}
