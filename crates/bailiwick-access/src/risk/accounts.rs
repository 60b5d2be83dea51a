//! B016 and T004: service accounts with dangerous permissions, by their workloads and by the users with access to
//! pods of the namespace.
//!
//! Both rules have one cause if they report one account: the account is stronger than its surroundings. T004 then
//! replaces B016. An account is judged by its own bindings, as everywhere in this module.

use std::collections::{BTreeMap, HashMap};

use super::RiskSeverity;
use super::holders::{Classes, Judged, Powers, ScopedSubject};
use super::judge::{Finding, Findings, Folded, Judge, Likeness, is_given};
use super::objects::few;
use super::table::{AccountCheck, FULL_AUTHORITY, RiskRule, When};
use crate::compare::Affected;
use crate::proof::place;
use crate::request::service_account;
use crate::symbols::Symbol;
use crate::workloads::Running;
use crate::world::Holder;
use bailiwick_yaml::digest::digest_of_run;

/// The rules about creating pods, directly or by a workload.
const CREATES_PODS: [&str; 2] = ["W001", "W002"];

/// A finding about a service account, with its severity and place.
#[derive(Clone, Copy)]
struct Power<'j> {
    judged: &'j Judged,
    severity: RiskSeverity,
    place: ScopedSubject,
}

/// The high and critical findings about a service account, the worst first.
struct Account<'j> {
    namespace: &'j str,
    name: &'j str,
    powers: Vec<Power<'j>>,
}

impl Account<'_> {
    fn severity(&self) -> RiskSeverity {
        self.powers.first().map_or(RiskSeverity::Info, |power| power.severity)
    }

    fn full_name(&self) -> String {
        format!("ServiceAccount/{}/{}", self.namespace, self.name)
    }
}

impl Judge<'_> {
    /// Judges service accounts by the workloads and the users beside them.
    pub(super) fn accounts(&self, classes: &Classes, powers: &Powers, findings: &mut Findings) {
        let rule_of = |check| {
            let is_it = |rule: &&&'static RiskRule| matches!(rule.when, When::Accounts(own) if own == check);
            self.options.rules.iter().find(is_it).copied()
        };
        let (runs, above) = (rule_of(AccountCheck::Runs), rule_of(AccountCheck::AboveUsers));
        if runs.is_none() && above.is_none() {
            return;
        }
        let mut running: HashMap<(&str, &str), Vec<&Running>> = HashMap::new();
        for workload in self.world.running.iter().filter(|workload| is_given(workload.layer)) {
            let (namespace, name) = &workload.account;
            running.entry((namespace, name)).or_default().push(workload);
        }
        let judged_at: HashMap<ScopedSubject, &[Judged]> = classes.iter().collect();
        let mut creators: HashMap<&str, Vec<(Holder, &Judged)>> = HashMap::new();
        for ((holder, namespace), judged) in classes.iter() {
            let Some(namespace) = namespace.filter(|_| above.is_some() && !self.is_account(holder)) else { continue };
            let creates =
                |judged: &&Judged| judged.is_reported && CREATES_PODS.contains(&judged.rule.id) && !judged.is_named();
            if let Some(creates) = judged.iter().find(creates) {
                creators.entry(self.world.symbols.text(namespace)).or_default().push((holder, creates));
            }
        }
        for account in self.strong_accounts(classes, powers) {
            let workloads = running.get(&(account.namespace, account.name)).map_or(&[][..], Vec::as_slice);
            let users = creators.get(account.namespace).map_or(&[][..], Vec::as_slice);
            // For each user the worst permission of the account that the user lacks.
            let lacking = |(holder, creates): &(Holder, &'_ Judged)| {
                let lacks = |power: &&Power<'_>| !self.has_power(*holder, power, &judged_at);
                Some((*holder, (*creates).clone(), *account.powers.iter().find(lacks)?))
            };
            let lacking: Vec<(Holder, Judged, Power<'_>)> = users.iter().filter_map(lacking).collect();
            match (above, lacking.is_empty()) {
                (Some(rule), false) => {
                    let folded = runs.filter(|_| !workloads.is_empty());
                    self.report_above_users(rule, &account, &lacking, folded, findings);
                }
                _ => {
                    let rule = runs.into_iter();
                    rule.for_each(|rule| {
                        workloads.iter().for_each(|workload| self.report_runs(rule, &account, workload, findings))
                    });
                }
            }
        }
    }

    fn is_account(&self, holder: Holder) -> bool {
        !holder.is_group && service_account(self.world.symbols.text(holder.name)).is_some()
    }

    /// Returns the service accounts with high or critical findings, by namespace and name.
    fn strong_accounts<'j>(&'j self, classes: &'j Classes, powers: &Powers) -> Vec<Account<'j>> {
        let chooses_powers = self.options.rules.iter().any(|rule| rule.condition().is_some());
        let is_counted = |rule: &RiskRule| !chooses_powers || self.is_selected(rule);
        let mut accounts: BTreeMap<(&str, &str), Vec<Power<'j>>> = BTreeMap::new();
        for (place, all) in classes.iter().filter(|((holder, _), _)| !holder.is_group) {
            let Some(account) = service_account(self.world.symbols.text(place.0.name)) else { continue };
            let rated = self.rated(place, all, powers, &is_counted);
            // A finding with folded ones comes first among its equals.
            let head = self.head(&rated).map(|head| head.judged.rule.id);
            let mut found: Vec<Power<'j>> = rated
                .iter()
                .filter(|found| found.severity >= RiskSeverity::High)
                .map(|found| Power { judged: found.judged, severity: found.severity, place })
                .collect();
            found.sort_by_key(|power| (std::cmp::Reverse(power.severity), Some(power.judged.rule.id) != head));
            if !found.is_empty() {
                accounts.entry(account).or_default().extend(found);
            }
        }
        let account = |((namespace, name), mut powers): ((&'j str, &'j str), Vec<Power<'j>>)| {
            powers.sort_by_key(|power| std::cmp::Reverse(power.severity));
            Account { namespace, name, powers }
        };
        accounts.into_iter().map(account).collect()
    }

    /// Whether a holder has a permission of an account, in the same scope or a wider one.
    fn has_power(&self, holder: Holder, power: &Power<'_>, judged_at: &HashMap<ScopedSubject, &[Judged]>) -> bool {
        let has_at = |namespace: Option<Symbol>| {
            judged_at.get(&(holder, namespace)).into_iter().copied().flatten().any(|own| {
                let is_same = own.rule.id == power.judged.rule.id && own.has_names_of(power.judged);
                is_same || own.rule.id == FULL_AUTHORITY
            })
        };
        has_at(power.place.1) || (power.place.1.is_some() && has_at(None))
    }

    /// Adds the finding about a workload of an account.
    fn report_runs(&self, rule: &'static RiskRule, account: &Account<'_>, workload: &Running, findings: &mut Findings) {
        let Some(worst) = account.powers.first() else { return };
        let place = place(workload.layer);
        let likeness = Likeness {
            rule: rule.id,
            severity: worst.severity,
            in_namespace: true,
            shapes: vec![self.content(account)],
            place: self.apart(place),
            reached: None,
        };
        let namespace = self.world.symbols.find(account.namespace);
        let affected = || Affected { subject: workload.workload.clone(), scope: self.scope(Some(namespace)) };
        findings.add(likeness, affected, || Finding {
            what: format!("`{}`, which {}{}", account.full_name(), self.words(worst), more(account.powers.len() - 1)),
            proof: self.proof_of(worst.place, worst.judged),
            ..Finding::new(rule, worst.severity, place)
        });
    }

    /// Adds the finding about users with access to pods and without the permissions of an account of their namespace.
    fn report_above_users(
        &self,
        rule: &'static RiskRule,
        account: &Account<'_>,
        lacking: &[(Holder, Judged, Power<'_>)],
        folded: Option<&'static RiskRule>,
        findings: &mut Findings,
    ) {
        let Some(level) = rule.namespace else { return };
        let Some((user, creates, power)) = lacking.iter().max_by_key(|(.., power)| power.severity) else { return };
        let severity = folded.map_or(level, |_| level.max(account.severity()));
        let namespace = self.world.symbols.find(account.namespace);
        let mut proof = self.proof_of(power.place, power.judged);
        let place = proof.first().and_then(|chain| chain.binding.place);
        let names: Vec<String> =
            lacking.iter().map(|(user, ..)| format!("`{}`", self.world.holder_name(*user))).collect();
        let verb = if names.len() == 1 { "lacks" } else { "lack" };
        let likeness = Likeness {
            rule: rule.id,
            severity,
            in_namespace: true,
            shapes: vec![self.content(account), digest_of_run(&creates.rule.id), u128::from(folded.is_some())],
            place: self.apart(place),
            reached: None,
        };
        let affected = || Affected { subject: account.full_name(), scope: self.scope(Some(namespace)) };
        findings.add(likeness, affected, || {
            proof.extend(self.proof_of((*user, Some(namespace)), creates));
            Finding {
                what: format!(
                    "{}; {} can run pods as this account and {verb} this permission",
                    self.words(power),
                    few(&names)
                ),
                folded: folded
                    .into_iter()
                    .map(|rule| Folded { rule, severity: account.severity(), reached: None, rules: Vec::new() })
                    .collect(),
                proof,
                ..Finding::new(rule, severity, place)
            }
        });
    }

    /// Returns the words of a rule for a permission of an account, with the scope.
    fn words(&self, power: &Power<'_>) -> String {
        let finding = Finding {
            count: 1,
            first: vec![Affected { subject: String::new(), scope: self.scope(power.place.1) }],
            names: self.names(power.judged),
            what: self.what_of(power.place, power.judged),
            ..Finding::new(power.judged.rule, power.severity, None)
        };
        finding.predicate()
    }

    /// Returns a number for the findings about an account, without its name.
    fn content(&self, account: &Account<'_>) -> u128 {
        let of_power = |power: &Power<'_>| (power.judged.rule.id, power.severity.word(), power.place.1.is_some());
        digest_of_run(&account.powers.iter().map(of_power).collect::<Vec<_>>())
    }
}

/// Returns the number of further findings in words.
fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => ", with 1 more finding of `lint`".to_owned(),
        others => format!(", with {others} more findings of `lint`"),
    }
}
