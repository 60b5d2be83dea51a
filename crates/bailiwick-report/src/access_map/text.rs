//! Plain text, for terminals.

use bailiwick_analysis::access_map::{AccessMap, SubjectAccess, TargetAccess};
use bailiwick_workspace::words::{grouped, number};

use super::{cell, group_name, group_sample, path_title, policies, question, roles, rules, target_name, who, worst};
use crate::page::Page;
use crate::review::phrase::Phrase;
use crate::review::view::severity;
use crate::review::words;

/// The most entries of a list.
const MAXIMUM_ENTRIES: usize = 100;

/// The width of the severities.
const WIDTH: usize = 10;

/// Returns a map as plain text.
pub(super) fn text(map: &AccessMap) -> String {
    let mut page = Page::new();
    for (index, target) in map.targets.iter().enumerate() {
        if index > 0 {
            page.push_str("\n");
        }
        one_target(&mut page, map, target);
    }
    let findings: usize = map.findings.counts.values().sum();
    heading(&mut page, "findings", findings);
    for record in &map.findings.worst {
        let severity = record.risk.as_ref().map_or(record.severity.as_str(), |risk| &risk.severity);
        line(&mut page, severity, &Phrase::sentence(&format!("{}: {}", record.code, record.message)));
    }
    more(&mut page, findings, map.findings.worst.len());
    for (name, reason) in &map.unanswered.0 {
        line(&mut page, "unknown", &Phrase::default().name(name.as_str()).words(": ").then(Phrase::sentence(reason)));
    }
    page.finish()
}

fn one_target(page: &mut Page, map: &AccessMap, target: &TargetAccess) {
    let namespaces = number(target.namespace_count, "namespace");
    writeln!(page, "{}: {namespaces}", target_name(target).plain());
    heading(page, "access", target.subjects.len());
    target.subjects.iter().take(MAXIMUM_ENTRIES).for_each(|subject| one_subject(page, map, subject));
    more(page, target.subjects.len(), MAXIMUM_ENTRIES);
    if target.default_subjects > 0 {
        let subjects = number(target.default_subjects, "subject");
        line(page, "-", &Phrase::new(format!("{subjects} of the default policy, with the access of every cluster")));
    }
    heading(page, "escalation paths", target.paths.len());
    for path in target.paths.iter().take(MAXIMUM_ENTRIES) {
        line(page, severity(path.severity), &path_title(map, path));
        path.steps.iter().for_each(|step| line(page, "", &words::step(step)));
    }
    more(page, target.paths.len(), MAXIMUM_ENTRIES);
    policies(target).iter().for_each(|sentence| line(page, "-", &Phrase::sentence(sentence)));
    heading(page, "namespaces", target.namespace_count);
    for group in target.namespaces.iter().take(MAXIMUM_ENTRIES) {
        let count = Phrase::new(format!("{} of ", number(group.count, "namespace")));
        line(page, "-", &count.then(group_name(group)).words(": ").then(group_sample(group)));
    }
    more(page, target.namespaces.len(), MAXIMUM_ENTRIES);
    if !target.unknown.is_empty() {
        heading(page, "not known", target.unknown.len());
        target.unknown.iter().take(MAXIMUM_ENTRIES).for_each(|text| line(page, "-", &Phrase::sentence(text)));
        more(page, target.unknown.len(), MAXIMUM_ENTRIES);
    }
}

fn one_subject(page: &mut Page, map: &AccessMap, subject: &SubjectAccess) {
    let mut title = who(map, subject.class);
    for (index, power) in subject.powers.iter().enumerate() {
        let words = if index > 0 { ", " } else { " reaches " };
        title = title.words(words).name(power.power.as_str());
    }
    let rating = worst(subject);
    line(page, if rating.is_empty() { "-" } else { rating }, &title);
    subject.grants.iter().for_each(|access| line(page, "", &roles(access).words("; ").then(rules(access))));
    let answers = map.questions.iter().zip(&subject.cells);
    let answers = answers.filter_map(|(asked, answer)| Some(format!("{} {}", question(asked), cell(*answer)?)));
    let answers: Vec<String> = answers.collect();
    if !answers.is_empty() {
        line(page, "", &Phrase::new("can ").words(answers.join("; ")));
    }
}

fn heading(page: &mut Page, title: &str, count: usize) {
    page.push_str("\n");
    writeln!(page, "{title} ({})", grouped(count));
}

fn line(page: &mut Page, rating: &str, text: &Phrase) {
    writeln!(page, "  {rating:WIDTH$}{}", text.plain());
}

fn more(page: &mut Page, count: usize, most: usize) {
    if count > most {
        writeln!(page, "  and {}", number(count - most, "further item"));
    }
}
