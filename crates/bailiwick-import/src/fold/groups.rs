//! Groups of OpenShift as a GroupSet with a table.

use serde_json::{Map, Value, json};

use super::metadata::Metadata;
use super::{FoldedPolicy, Folding, PolicyKind, escaped};
use crate::values::ValueId;

/// The API group of users and groups of OpenShift.
pub(crate) const GROUP: &str = "user.openshift.io";

/// The name of the policy.
const NAME: &str = "groups";

/// Folds the groups that are left.
pub(super) fn fold(folding: &mut Folding<'_>) {
    let mut table = String::from("group,user\n");
    let (mut in_table, mut with_metadata, mut objects) = (false, Vec::new(), Vec::new());
    for index in folding.left_of(GROUP, "Group") {
        let Some(object) = folding.object(index) else { continue };
        let values = &*folding.values;
        let fits = values.has_only(object.value, &["apiVersion", "kind", "metadata", "users"]);
        let Some(metadata) = Metadata::read(values, object.value).filter(|_| fits) else { continue };
        let users = values.at(object.value, &["users"]).map_or(&[][..], |users| values.items(users));
        let users: Option<Vec<&str>> = users.iter().map(|user: &ValueId| values.as_text(*user)).collect();
        let Some(users) = users else { continue };
        objects.push(index);
        let name = &*object.identity.name;
        if metadata.labels.is_none() && metadata.annotations.is_none() {
            in_table = true;
            let mut users = if users.is_empty() { vec![""] } else { users };
            users.sort_unstable();
            users.iter().for_each(|user| row(&[name, user], &mut table));
            continue;
        }
        let mut group = Map::new();
        group.insert("name".to_owned(), escaped(name).into());
        metadata.write(values, &mut group);
        if !users.is_empty() {
            group.insert("members".to_owned(), users.iter().map(|user| escaped(user)).collect());
        }
        with_metadata.push(Value::Object(group));
    }
    if objects.is_empty() {
        return;
    }
    let mut spec = json!({});
    let file = format!("{NAME}.csv");
    if !with_metadata.is_empty() {
        spec = json!({ "groups": with_metadata });
    }
    if let Some(spec) = spec.as_object_mut().filter(|_| in_table) {
        spec.insert("file".to_owned(), file.clone().into());
    }
    folding.add(PolicyKind::GroupSet, NAME.to_owned(), spec, objects);
    if let Some(FoldedPolicy { files, .. }) = folding.folded.policies.last_mut().filter(|_| in_table) {
        files.push((file, table));
    }
}

/// Appends a line of a CSV file.
pub(super) fn row(cells: &[&str], table: &mut String) {
    let quoted: Vec<String> = cells.iter().map(|cell| cell_text(cell)).collect();
    table.push_str(&quoted.join(","));
    table.push('\n');
}

/// Returns a cell of a CSV file, in quotes where a reader needs them.
fn cell_text(cell: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "_./@+=*-: ".contains(character);
    if cell.trim() == cell && cell.chars().all(is_plain) {
        return cell.to_owned();
    }
    format!("\"{}\"", cell.replace('"', "\"\""))
}
