//! The page of a migration, and the same sections as a part of a map of access.

use bailiwick_admission::level::Level;
use bailiwick_analysis::subject_classes::{Member, SubjectClass};
use bailiwick_workspace::words::grouped;
use bailiwick_yaml::diag::foreign;
use minijinja::{Value, context};

use super::namespaces::{NamespaceGroup, ProfileChoice};
use super::{Entry, PspMigrationReport, SHOWN, Section, SectionContent, TITLE, evidence, sections};
use crate::html_page::{HtmlPage, SearchedList, escaped_value, html};
use crate::review::phrase::Phrase;

const TEMPLATE: &str = include_str!("page.html");

const STYLE: &str = include_str!("sections.css");

/// The most rows and entries of a section. JSON has all of them.
const MAXIMUM_ROWS: usize = 100;

/// The most characters of the line above an entry in the search.
const MAXIMUM_CONTEXT: usize = 120;

/// Returns the report as one HTML file.
pub(super) fn page(report: &PspMigrationReport<'_>) -> String {
    let found = sections(report);
    let facts = facts(report, &found);
    let MigrationPart { sections, lists } = MigrationPart::new(found, 0);
    let first = sections.first().cloned();
    let (tone, verdict) = verdict(report);
    let values = context! {
        title => TITLE,
        tone => tone,
        verdict => verdict,
        doubt => evidence::without_pods(&report.plan.workloads),
        facts => facts,
        first => first.into_iter().collect::<Vec<Value>>(),
        others => sections.iter().skip(1).cloned().collect::<Vec<Value>>(),
        sections => links(&sections),
        footer => format!("Written by bailiwick {}. The page makes no request.", env!("CARGO_PKG_VERSION")),
    };
    let searched: Vec<SearchedList<'_>> = lists.iter().map(SearchedList::of_class).collect();
    HtmlPage { template: TEMPLATE, own_style: STYLE, values, searched: &searched }.render()
}

/// Returns the links to the sections, with the search after the first section.
fn links(sections: &[Value]) -> Vec<Value> {
    let mut links: Vec<Value> = sections.to_vec();
    links.insert(links.len().min(1), context! { id => "search-section", title => "Search" });
    links
}

/// Returns the tone of the verdict, and the verdict.
fn verdict(report: &PspMigrationReport<'_>) -> (&'static str, &'static str) {
    match (report.plan.needs_decision(), evidence::without_pods(&report.plan.workloads)) {
        (true, _) => ("bad", "needs decisions"),
        (false, Some(_)) => ("unsure", "no open decision, as far as the objects show"),
        (false, None) => ("good", "no open decision"),
    }
}

/// Returns the numbers below the verdict.
fn facts(report: &PspMigrationReport<'_>, sections: &[Section]) -> Vec<Value> {
    let plan = report.plan;
    let levels = |level| {
        let names = plan.namespaces.iter().map(|namespace| &namespace.name);
        names.filter(|name| report.policies.level_of(name) == Some(level)).count()
    };
    let decisions = sections.iter().filter(|section| section.id == "decisions").map(Section::len).sum();
    let facts = [
        ("entries to be decided", decisions),
        ("PodSecurityPolicies", plan.policies.len()),
        ("namespaces", plan.namespaces.len()),
        ("privileged namespaces", levels(Level::Privileged)),
        ("baseline namespaces", levels(Level::Baseline)),
        ("restricted namespaces", levels(Level::Restricted)),
        ("workloads", plan.workloads.len()),
        ("pods", plan.workloads.iter().map(|workload| workload.pods).sum()),
        ("patched workloads", report.patches.workloads()),
    ];
    facts.into_iter().map(|(name, value)| context! { name => name, value => grouped(value) }).collect()
}

/// The sections of a migration for a page, and the lists of names for its search.
pub(crate) struct MigrationPart {
    /// The values of the template `migration.html`.
    pub(crate) sections: Vec<Value>,
    /// The lists of names. The element with the names of a list has the id `class-` with the id of the list.
    pub(crate) lists: Vec<SubjectClass>,
}

impl MigrationPart {
    /// Lays out the sections of a report. The ids of the lists begin at `first`.
    pub(crate) fn of_report(report: &PspMigrationReport<'_>, first: usize) -> Self {
        Self::new(sections(report), first)
    }

    fn new(sections: Vec<Section>, first: usize) -> Self {
        let mut layout = Layout { first, lists: Vec::new() };
        let sections = sections.into_iter().map(|section| layout.section(section)).collect();
        Self { sections, lists: layout.lists }
    }
}

/// The lists of names of the sections so far.
struct Layout {
    first: usize,
    lists: Vec<SubjectClass>,
}

impl Layout {
    fn section(&mut self, section: Section) -> Value {
        let Section { id, title, content } = section;
        let (mut entries, mut namespaces, mut stages) = (Vec::new(), Vec::new(), Vec::new());
        let left_out = match content {
            SectionContent::Entries(mut list) => {
                let left_out = list.split_off(list.len().min(MAXIMUM_ROWS));
                entries.extend(list.iter().map(|entry| self.entry(title, entry)));
                left_out
            }
            SectionContent::Stages(list) => {
                stages.extend(list.iter().map(|stage| self.entry(title, stage)));
                Vec::new()
            }
            SectionContent::Namespaces(mut groups) => {
                let left_out = groups.split_off(groups.len().min(MAXIMUM_ROWS));
                namespaces.extend(groups.into_iter().map(|group| self.group(title, group)));
                left_out.into_iter().map(NamespaceGroup::into_entry).collect()
            }
        };
        context! {
            id => format!("migration-{id}"),
            title => title,
            count => grouped(entries.len() + namespaces.len() + stages.len() + left_out.len()),
            entries => entries,
            namespaces => namespaces,
            stages => stages,
            more => self.more(title, &left_out),
        }
    }

    /// Returns the line about the entries that a section leaves out. The search has their names.
    fn more(&mut self, title: &str, left_out: &[Entry]) -> Option<Value> {
        let with_details = left_out.iter().flat_map(|entry| std::iter::once(entry).chain(&entry.details));
        let names: Vec<String> = with_details.flat_map(|entry| entry.names.iter().cloned()).collect();
        let count = grouped(left_out.len());
        let more = || {
            context! {
                id => self.list(&names),
                label => format!("{title}: one of {count} further entries"),
                text => format!("and {count} more; the JSON form of bailiwick migrate psp has all of them"),
            }
        };
        (!left_out.is_empty()).then(more)
    }

    fn entry(&mut self, above: &str, entry: &Entry) -> Value {
        let words = words(entry);
        let below = foreign::shortened(&words, MAXIMUM_CONTEXT);
        let details: Vec<Value> = entry.details.iter().map(|detail| self.entry(&below, detail)).collect();
        context! {
            id => self.list(&entry.names),
            label => escaped_value(&format!("{above}: {words}")),
            text => html(&phrase(entry)),
            details => details,
        }
    }

    fn group(&mut self, title: &str, group: NamespaceGroup) -> Value {
        let id = self.list(&group.names);
        let count = grouped(group.names.len());
        let names = Phrase::default().names(group.names.iter().map(String::as_str), SHOWN);
        let names = match &group.tenancy {
            Some(tenancy) => Phrase::new("Tenancy ").name(tenancy.as_str()).words(": ").then(names),
            None => names,
        };
        let profile = match &group.profile {
            ProfileChoice::Profile(profile) => Phrase::default().name(profile.as_str()),
            ProfileChoice::NoPods => Phrase::new("no pod gets in today"),
            ProfileChoice::Conflict => Phrase::new("none, to be decided"),
        };
        context! {
            id => id,
            names => html(&names),
            count => count,
            level => group.level.map(Level::name),
            other_levels => group.other_levels.iter().map(|(level, by)| format!("{level} {by}")).collect::<Vec<String>>(),
            profile => html(&profile),
            workloads => grouped(group.workloads),
            details => group.details.iter().map(|detail| html(&Phrase::sentence(detail))).collect::<Vec<Value>>(),
            label => escaped_value(&format!("{title}: {}", words(&group.into_entry()))),
        }
    }

    /// Adds a list of names to the search. Returns its id; an empty one for no names.
    fn list(&mut self, names: &[String]) -> String {
        if names.is_empty() {
            return String::new();
        }
        let id = self.first + self.lists.len();
        self.lists.push(SubjectClass {
            id,
            template: String::new(),
            count: names.len(),
            members: names
                .iter()
                .map(|name| Member { subject: without_backticks(name).to_owned(), namespaces: Vec::new() })
                .collect(),
            sample: Vec::new(),
        });
        id.to_string()
    }
}

/// Returns a line with the first of its names.
fn phrase(entry: &Entry) -> Phrase {
    let names = entry.names.iter().map(|name| without_backticks(name));
    Phrase::sentence(&entry.before).names(names, SHOWN).then(Phrase::sentence(&entry.after))
}

/// Returns a line without its names.
fn words(entry: &Entry) -> String {
    let is_mark = |letter: char| letter == ':' || letter == ' ';
    let parts = [entry.before.trim_end_matches(is_mark), entry.after.trim_start_matches(is_mark)];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" ").replace('`', "")
}

/// Returns a name without the backticks around it.
fn without_backticks(name: &str) -> &str {
    match name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) {
        Some(inside) => inside,
        None => name,
    }
}
