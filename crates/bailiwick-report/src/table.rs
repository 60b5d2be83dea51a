//! A role as a table: API, resource, verbs, and the parts that are dead at a version.

use std::collections::BTreeMap;

use bailiwick_kubernetes::catalogue::{Api, Catalogue, Served};
use bailiwick_kubernetes::grants::{Effect, Grant, grants};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::foreign;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;
use super::result::CommandResult;

/// The permissions of a compiled role.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TableResult {
    /// The cluster configuration of the workspace.
    pub target: String,
    /// The version, such as `1.36`.
    pub kubernetes_version: String,
    /// One row for each API group and resource.
    pub rows: Vec<Row>,
}

impl CommandResult for TableResult {
    const NAME: &'static str = "table";
}

/// One group and resource of a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The name of the group; `core` for the empty one.
    pub api: String,
    /// The resource, with its subresource after a slash.
    pub resource: String,
    /// The verbs, in the order of the role.
    pub verbs: Vec<String>,
    /// The verbs that no request of this version can need.
    pub dead: Vec<String>,
    /// True when the version does not serve the resource at all.
    pub not_served: bool,
}

/// Returns the rows of a role's rules on a cluster, sorted by group and resource.
pub fn rows(rules: NodeRef<'_>, cluster: &Api) -> Vec<Row> {
    let (catalogue, minor) = (cluster.catalogue(), cluster.minor());
    let mut by_resource: BTreeMap<(&str, &str), Vec<Grant<'_>>> = BTreeMap::new();
    for grant in grants(rules) {
        by_resource.entry((grant.group, grant.resource)).or_default().push(grant);
    }
    let mut rows: Vec<Row> = by_resource
        .into_iter()
        .map(|((group, resource), grants)| {
            let effects: Vec<(&str, Effect)> =
                grants.iter().map(|grant| (grant.verb, grant.effect(catalogue, minor))).collect();
            let dead = effects.iter().filter(|(_, effect)| *effect != Effect::Live);
            Row {
                api: api(catalogue, group, resource, minor),
                resource: resource.to_owned(),
                verbs: effects.iter().map(|(verb, _)| (*verb).to_owned()).collect(),
                dead: dead.map(|(verb, _)| (*verb).to_owned()).collect(),
                not_served: effects.iter().all(|(_, effect)| *effect == Effect::NotServed),
            }
        })
        .collect();
    rows.extend(url_rows(rules));
    rows
}

/// Returns the served group and version, such as `apps/v1`; the group alone if the server does not serve it.
fn api(catalogue: &Catalogue, group: &str, resource: &str, minor: u32) -> String {
    let presence = catalogue.presence(minor, group, resource);
    let name = if group.is_empty() { "core" } else { group };
    let stable = presence.versions.iter().find(|version| !version.contains("alpha") && !version.contains("beta"));
    match stable.or(presence.versions.last()).filter(|_| presence.served == Served::Yes) {
        Some(version) => format!("{name}/{version}"),
        None => name.to_owned(),
    }
}

/// Returns a row for each URL path.
fn url_rows(rules: NodeRef<'_>) -> Vec<Row> {
    let strings = |rule: NodeRef<'_>, field: &str| -> Vec<String> {
        rule.get(field).into_iter().flat_map(NodeRef::items).filter_map(NodeRef::as_str).map(str::to_owned).collect()
    };
    rules
        .items()
        .flat_map(|rule| {
            let verbs = strings(rule, "verbs");
            strings(rule, "nonResourceURLs").into_iter().map(move |url| Row {
                api: "URL".to_owned(),
                resource: url,
                verbs: verbs.clone(),
                dead: Vec::new(),
                not_served: false,
            })
        })
        .collect()
}

/// Returns the text of the last column.
fn dead(row: &Row) -> String {
    if row.not_served { "not served".to_owned() } else { row.dead.join(",") }
}

const HEADER: [&str; 4] = ["API", "RESOURCE", "VERBS", "DEAD"];

fn cells(row: &Row) -> [String; 4] {
    [row.api.clone(), row.resource.clone(), row.verbs.join(","), dead(row)]
}

/// Returns the table in aligned columns.
pub fn text(rows: &[Row]) -> String {
    let lines: Vec<[String; 4]> = std::iter::once(HEADER.map(str::to_owned)).chain(rows.iter().map(cells)).collect();
    let mut widths = [0; 4];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = Page::new();
    for line in &lines {
        let padded: Vec<String> = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        writeln!(text, "{}", padded.join("  ").trim_end());
    }
    text.finish()
}

/// Returns the table in Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = format!("| {} |\n| --- | --- | --- | --- |\n", HEADER.join(" | "));
    for row in rows {
        let cells = cells(row).map(|cell| foreign::markdown_cell(&cell));
        text.push_str(&format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |"));
    }
    text
}

/// Returns the table as comma-separated values.
pub fn csv(rows: &[Row]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = HEADER.map(str::to_lowercase);
    let written = writer.write_record(&header).and_then(|()| {
        rows.iter()
            .try_for_each(|row| writer.write_record(cells(row).map(|cell| foreign::csv_cell(&cell).into_owned())))
    });
    match (written, writer.into_inner()) {
        (Ok(()), Ok(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        // Writing into memory does not fail.
        _ => String::new(),
    }
}

/// Returns a summary in one line.
pub fn summary(rows: &[Row]) -> String {
    let grants: usize = rows.iter().map(|row| row.verbs.len()).sum();
    let not_served: usize = rows.iter().filter(|row| row.not_served).map(|row| row.verbs.len()).sum();
    let dead: usize = rows.iter().filter(|row| !row.not_served).map(|row| row.dead.len()).sum();
    format!(
        "{} rows, {grants} grants: {} live, {dead} with a verb the resource does not take, {not_served} not served\n",
        rows.len(),
        grants - dead - not_served
    )
}
