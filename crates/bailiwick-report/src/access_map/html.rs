//! One HTML file, without a request and without a library.

use std::collections::{BTreeSet, HashSet};

use bailiwick_analysis::access_map::{
    AccessCell, AccessMap, NamespaceGroup, ReportedPath, SubjectAccess, TargetAccess,
};
use bailiwick_analysis::subject_classes::SubjectClass;
use bailiwick_workspace::words::{grouped, number};
use minijinja::{Value, context};

use super::{group_name, group_sample, path_title, policies, question, roles, rules, target_name, who, worst};
use crate::html_page::{HtmlPage, SearchedList, SearchedNames, class_row, escaped_value, html, named_namespaces};
use crate::migration::html::MigrationPart;
use crate::migration::{PspMigrationReport, TITLE};
use crate::review::phrase::{FilePlace, Phrase};
use crate::review::view::{severity, split_place};
use crate::review::{svg, words};

const TEMPLATE: &str = include_str!("report.html");
const OWN_STYLE: &str = concat!(include_str!("report.css"), include_str!("../migration/sections.css"));

/// The section about the PodSecurityPolicies of the inputs.
const MIGRATION: [&str; 2] = ["migration", TITLE];

/// The other sections with their titles.
const SECTIONS: [[&str; 2]; 7] = [
    ["matrix", "Access matrix"],
    ["classes", "Search"],
    ["paths", "Escalation paths"],
    ["findings", "Findings"],
    ["access", "Permissions"],
    ["namespaces", "Namespaces"],
    ["unknown", "Not known"],
];

/// The most rows of a table and entries of a list. JSON has all of them.
const MAXIMUM_ROWS: usize = 500;

/// The most paths of a target, and the first paths, of which those with several steps have a picture.
const MAXIMUM_PATHS: usize = 60;
const MAXIMUM_PICTURES: usize = 8;

/// Returns a map as one HTML file, with the migration of its PodSecurityPolicies as a section.
pub(super) fn text(map: &AccessMap, migration: Option<&PspMigrationReport<'_>>) -> String {
    let first_list = map.classes.len() + map.targets.iter().map(|target| target.namespaces.len()).sum::<usize>();
    let migration = migration.map(|report| MigrationPart::of_report(report, first_list));
    let has_policies = map.targets.iter().any(|target| policies(target).is_some());
    let sections = SECTIONS.iter().chain(has_policies.then_some(&MIGRATION));
    let values = context! {
        title => escaped_value(&title(map)),
        facts => facts(map),
        questions => map.questions.iter().map(question).collect::<Vec<String>>(),
        targets => map.targets.iter().enumerate().map(|(index, target)| one_target(map, index, target)).collect::<Vec<Value>>(),
        findings => findings(map),
        finding_counts => map.findings.counts.iter().map(|(name, count)| context! { name => name, count => grouped(*count) }).collect::<Vec<Value>>(),
        unanswered => map.unanswered.0.iter().map(|(name, why)| html(&Phrase::default().name(name.as_str()).words(": ").then(Phrase::sentence(why)))).collect::<Vec<Value>>(),
        classes => map.classes.iter().take(MAXIMUM_ROWS).map(class_row).collect::<Vec<Value>>(),
        more_classes => more(map.classes.len(), MAXIMUM_ROWS, "class"),
        sections => sections.map(|[id, title]| context! { id => *id, title => *title }).collect::<Vec<Value>>(),
        migration_title => TITLE,
        has_policies => has_policies,
        migration => migration.iter().flat_map(|part| part.sections.iter().cloned()).collect::<Vec<Value>>(),
        footer => format!("Written by bailiwick {}. The page makes no request.", env!("CARGO_PKG_VERSION")),
    };
    let mut searched = searched(map);
    searched.extend(migration.iter().flat_map(|part| &part.lists).map(SearchedList::of_class));
    HtmlPage { template: TEMPLATE, own_style: OWN_STYLE, values, searched: &searched }.render()
}

/// Returns the classes of the rows, and the namespaces that no subject of a row names. The classes of paths have the same subjects.
pub(super) fn searched(map: &AccessMap) -> Vec<SearchedList<'_>> {
    let rows = map.targets.iter().flat_map(|target| &target.subjects);
    let rows: BTreeSet<usize> = rows.map(|subject| subject.class).collect();
    let classes: Vec<&SubjectClass> = rows.into_iter().filter_map(|class| map.classes.get(class)).collect();
    let members = classes.iter().flat_map(|class| class.members.iter());
    let named: HashSet<&str> = members.flat_map(|member| named_namespaces(&member)).collect();
    let groups = map.targets.iter().flat_map(|target| &target.namespaces);
    let further = groups.filter_map(|group| {
        let names = group.names.iter().map(|name| &**name).filter(|name| !named.contains(name));
        let names: Vec<&str> = names.collect();
        (!names.is_empty()).then(|| SearchedList { id: list_of(map, group), names: SearchedNames::Alone(names) })
    });
    let further: Vec<SearchedList<'_>> = further.collect();
    classes.into_iter().map(SearchedList::of_class).chain(further).collect()
}

/// Returns the number of the list of namespaces of a group.
fn list_of(map: &AccessMap, group: &NamespaceGroup) -> usize {
    map.classes.len() + group.id
}

fn title(map: &AccessMap) -> String {
    match map.targets.as_slice() {
        [only] => format!("Access on {}", target_name(only).plain()),
        targets => format!("Access on {}", number(targets.len(), "target")),
    }
}

fn facts(map: &AccessMap) -> Vec<Value> {
    let subjects = |is_counted: &dyn Fn(&SubjectAccess) -> bool| {
        let all = map.targets.iter().flat_map(|target| &target.subjects).filter(|subject| is_counted(subject));
        all.filter_map(|subject| map.classes.get(subject.class)).map(|class| class.count).sum::<usize>()
    };
    let finding = |name: &str| map.findings.counts.get(name).map_or(0, |count| *count);
    let facts = [
        ("bound subjects", subjects(&|_| true)),
        ("classes of equal access", map.targets.iter().map(|target| target.subjects.len()).sum()),
        ("subjects that reach a critical power", subjects(&|subject| worst(subject) == "critical")),
        ("namespaces", map.targets.iter().map(|target| target.namespace_count).sum()),
        ("critical findings", finding("critical")),
        ("high findings", finding("high")),
    ];
    facts.into_iter().map(|(name, value)| context! { name => name, value => grouped(value) }).collect()
}

fn more(count: usize, most: usize, noun: &str) -> String {
    match count.saturating_sub(most) {
        0 => String::new(),
        more => format!("and {}; the JSON form has all of them", number(more, &format!("further {noun} of the list"))),
    }
}

fn one_target(map: &AccessMap, index: usize, target: &TargetAccess) -> Value {
    let subjects = target.subjects.iter().take(MAXIMUM_ROWS);
    let paths = target.paths.iter().take(MAXIMUM_PATHS).enumerate();
    context! {
        id => index,
        name => html(&target_name(target)),
        count => grouped(target.subjects.len()),
        subjects => subjects.map(|subject| one_subject(map, subject)).collect::<Vec<Value>>(),
        more_subjects => more(target.subjects.len(), MAXIMUM_ROWS, "class"),
        default_subjects => if target.default_subjects > 0 { number(target.default_subjects, "subject") } else { String::new() },
        policies => policies(target).map(|sentence| html(&Phrase::sentence(&sentence))),
        path_count => grouped(target.paths.len()),
        paths => paths.map(|(position, path)| one_path(map, path, position < MAXIMUM_PICTURES && path.steps.len() > 1)).collect::<Vec<Value>>(),
        more_paths => more(target.paths.len(), MAXIMUM_PATHS, "path"),
        namespace_count => grouped(target.namespace_count),
        namespaces => target.namespaces.iter().take(MAXIMUM_ROWS).map(|group| one_group(map, group)).collect::<Vec<Value>>(),
        more_namespaces => more(target.namespaces.len(), MAXIMUM_ROWS, "group"),
        unknown => target.unknown.iter().take(MAXIMUM_ROWS).map(|text| html(&Phrase::sentence(text))).collect::<Vec<Value>>(),
        more_unknown => more(target.unknown.len(), MAXIMUM_ROWS, "item"),
    }
}

fn one_group(map: &AccessMap, group: &NamespaceGroup) -> Value {
    context! {
        id => list_of(map, group),
        name => html(&group_name(group)),
        count => grouped(group.count),
        sample => html(&group_sample(group)),
    }
}

fn one_subject(map: &AccessMap, subject: &SubjectAccess) -> Value {
    let power = |power: &bailiwick_analysis::access_map::ReportedPower| {
        let possible = if power.certainty == "possible" { " (possible)" } else { "" };
        context! { severity => severity(power.severity), text => format!("{}{possible}", power.power) }
    };
    let cell = |cell: &AccessCell| {
        let (class, text) = match cell {
            AccessCell::Nowhere => ("no", "–".to_owned()),
            AccessCell::Namespaces { count } => ("some", grouped(*count)),
            AccessCell::Everywhere => ("all", "all".to_owned()),
        };
        context! { class => class, text => text }
    };
    context! {
        class => subject.class,
        severity => worst(subject),
        who => html(&who(map, subject.class)),
        powers => subject.powers.iter().map(power).collect::<Vec<Value>>(),
        grants => subject.grants.iter().map(|access| context! { roles => html(&roles(access)), rules => html(&rules(access)) }).collect::<Vec<Value>>(),
        cells => subject.cells.iter().map(cell).collect::<Vec<Value>>(),
    }
}

fn one_path(map: &AccessMap, path: &ReportedPath, is_drawn: bool) -> Value {
    let title = path_title(map, path);
    let picture = if is_drawn { svg::picture(path.id, &title, &path.steps) } else { None };
    let place = |text: &str| {
        let (path, line) = split_place(text);
        FilePlace { path: path.to_owned(), line, address: None }
    };
    let step = |step| context! { text => html(&words::step(step)), proof => html(&words::proof(step, place)) };
    context! {
        id => path.id,
        severity => severity(path.severity),
        title => html(&title),
        picture => Value::from_safe_string(picture.into_iter().collect()),
        steps => path.steps.iter().map(step).collect::<Vec<Value>>(),
    }
}

fn findings(map: &AccessMap) -> Vec<Value> {
    let finding = |record: &bailiwick_workspace::FindingRecord| {
        let severity = record.risk.as_ref().map_or(record.severity.as_str(), |risk| &risk.severity);
        let place = record.place.as_ref().map(|place| FilePlace {
            path: place.path.clone(),
            line: Some(place.line),
            address: None,
        });
        context! {
            severity => severity,
            code => record.code.as_str(),
            text => html(&Phrase::sentence(&record.message)),
            place => place.map(|place| html(&Phrase::default().place(place))),
        }
    };
    map.findings.worst.iter().map(finding).collect()
}
