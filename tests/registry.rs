//! Everything that is listed once exists everywhere: kinds, codes, templates, pages and schemas.
//!
//! `UPDATE=1` writes the generated pages and schemas anew.

use bailiwick::codes;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use bailiwick::ManualPage;
use bailiwick::compile;
use bailiwick::diag::Sink;
use bailiwick::expand::OutputFileIndex;
use bailiwick::k8s::schemas;
use bailiwick::kinds;
use bailiwick::model::{Data, Unit};
use bailiwick::render::BUILTIN;
use bailiwick::source::DiskSource;
use bailiwick::yaml::schema::LATER_KEYWORDS;
use serde_json::Value;

use crate::case;
use crate::support::repository;

fn files_below(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.expect("an entry");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files_below(&entry.path(), &format!("{name}/"), found);
        } else {
            found.insert(name);
        }
    }
}

#[test]
fn every_template_belongs_to_a_kind() {
    let used: BTreeSet<&str> = kinds::ALL.iter().flat_map(|kind| kind.templates).copied().collect();
    let there: BTreeSet<&str> = BUILTIN.iter().map(|(path, _)| *path).filter(|path| !path.starts_with('_')).collect();
    assert_eq!(used, there);
}

#[test]
fn every_kind_has_templates_cases_and_a_page() {
    for kind in &kinds::ALL {
        let folder = kebab(kind.name);
        assert!(kind.templates.iter().all(|path| path.starts_with(&format!("{folder}/"))), "{}", kind.name);
        let cases = repository().join("tests/cases").join(&folder);
        for prefix in ["ok-", "err-"] {
            let found = std::fs::read_dir(&cases).into_iter().flatten().flatten();
            let found = found.filter(|case| case.file_name().to_string_lossy().starts_with(prefix)).count();
            assert!(found > 0, "{} has no case {prefix}", kind.name);
        }
        let page = ManualPage::find(kind.name).expect("a page").page;
        assert!(page.contains("```yaml\napiVersion: bailiwick.dev/v1alpha1\n"), "{} shows no example", kind.name);
    }
}

fn kebab(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// The example of every manual page is a document of its kind.
#[test]
fn examples_of_pages_fit_their_kind() {
    for name in kinds::names() {
        let page = ManualPage::find(name).expect("a page").page;
        let example = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
        let example: Value = serde_yaml::from_str(example).expect("YAML");
        let schema = kinds::schema_of(name).expect("a schema");
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let errors: Vec<String> = validator.iter_errors(&example).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

/// Every field of every kind has a description.
#[test]
fn every_field_is_described() {
    fn visit(schema: &Value, path: &str, missing: &mut Vec<String>) {
        for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}.{name}");
            if field.get("description").and_then(Value::as_str).is_none_or(str::is_empty) {
                missing.push(path.clone());
            }
            visit(field, &path, missing);
        }
        for inner in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(inner) {
                visit(inner, path, missing);
            }
        }
    }
    let mut missing = Vec::new();
    for name in kinds::names() {
        let schema = kinds::schema_of(name).expect("a schema");
        assert!(schema["description"].as_str().is_some_and(|text| text.len() > 40), "{name} has no manual page");
        visit(&schema["properties"]["spec"], name, &mut missing);
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn codes_have_names_titles_and_pages() {
    let mut ids = BTreeSet::new();
    for code in codes::all() {
        assert!(ids.insert(code.id()), "{} is there twice", code.id());
        assert_eq!(codes::find(code.id()), Some(*code));
        assert!(
            code.id().chars().all(|letter| letter.is_ascii_alphanumeric() || "-.".contains(letter)),
            "{}",
            code.id()
        );
        assert!(!code.title().ends_with('.') && code.title().starts_with(char::is_lowercase), "{}", code.title());
        assert!(code.page().len() > 40 && code.page().ends_with(['.', ')', '`']), "{}", code.page());
    }
}

/// The table of the fields of the built-in templates has the fields of the objects of all cases.
#[test]
fn the_fields_of_templates_are_in_step() {
    let mut found = FieldsOfTemplates::default();
    let cases = case::all().into_iter().filter(|case| case.name.contains("/ok-"));
    for case in cases {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        case.set_up(scratch.path());
        found.add_workspace(scratch.path());
    }
    let table = found.table();
    let path = repository().join("crates/bailiwick-compiler/src/render/fields.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &table).expect("the table");
    }
    let names = BUILTIN.iter().map(|(name, _)| *name).filter(|name| !name.starts_with('_'));
    let is_included = |name: &str| BUILTIN.iter().any(|(_, text)| text.contains(&format!("include \"{name}\"")));
    let missing: Vec<&str> = names.filter(|name| !found.objects.contains_key(*name) && !is_included(name)).collect();
    assert_eq!(missing, [""; 0], "no case has an object of these templates");
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == table,
        "crates/bailiwick-compiler/src/render/fields.md is not in step; run the tests with UPDATE=1"
    );
}

/// The fields of the built-in templates, with their types.
#[derive(Default)]
struct FieldsOfTemplates {
    /// How many objects each template has.
    objects: BTreeMap<String, usize>,
    /// The types of each field of a template, and the number of objects with it.
    fields: BTreeMap<(String, String), (BTreeSet<&'static str>, usize)>,
}

impl FieldsOfTemplates {
    fn add_workspace(&mut self, root: &Path) {
        let source = DiskSource::new(root);
        let project = compile::load(Box::new(source), Arc::default(), &mut Sink::new()).expect("a workspace");
        let Some(project) = project else { return };
        for target in &project.workspace.targets {
            let index = OutputFileIndex::new(&project.policies, target);
            for position in 0..index.len() {
                let policy = |index: usize| project.policies.get(index).map(|policy| &**policy);
                let units = index.units(position, policy, |place| project.policy_named_at(place), target);
                units.iter().filter(|unit| !unit.template.is_own()).for_each(|unit| self.add(unit));
            }
        }
    }

    fn add(&mut self, unit: &Unit) {
        *self.objects.entry(unit.template.to_string()).or_default() += 1;
        let Data::Map(entries) = &unit.data else { return };
        for (field, value) in entries.iter().filter(|(field, _)| !OF_ALL.contains(&&**field)) {
            let (types, count) = self.fields.entry((unit.template.to_string(), field.to_string())).or_default();
            types.insert(type_of(value));
            *count += 1;
        }
    }

    fn table(&self) -> String {
        let mut table = "| template | fields |\n|---|---|\n".to_owned();
        for (template, objects) in &self.objects {
            let is_known = |types: &BTreeSet<&str>| types.iter().any(|name| *name != "null");
            let own = self.fields.iter().filter(|((of, _), (types, _))| of == template && is_known(types));
            let fields = own.map(|((_, field), (types, count))| {
                let optional = if count < objects { ", optional" } else { "" };
                let types: Vec<&str> = types.iter().copied().collect();
                format!("`{field}` ({}{optional})", types.join(" or "))
            });
            let fields = fields.collect::<Vec<_>>().join(", ");
            table += &format!("| `{template}` | {fields} |\n");
        }
        table
    }
}

/// The fields of every object.
const OF_ALL: [&str; 4] = ["annotations", "labels", "name", "namespace"];

fn type_of(value: &Data) -> &'static str {
    match value {
        Data::Null => "null",
        Data::Bool(_) => "boolean",
        Data::Int(_) | Data::Float(_) => "number",
        Data::Str(_) => "string",
        Data::List(_) => "list",
        Data::Map(_) => "map",
    }
}

/// `docs/` holds what `explain` and `schema` print.
#[test]
fn the_generated_pages_are_in_step() {
    let docs = repository().join("docs");
    let expected = bailiwick::cli::generated_docs();
    let folders = ["areas", "kinds", "diagnostics", "schema"];
    if std::env::var_os("UPDATE").is_some() {
        for folder in folders {
            let _ = std::fs::remove_dir_all(docs.join(folder));
        }
        for (path, text) in &expected {
            let path = docs.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a page");
        }
    }
    let mut there = BTreeSet::new();
    for folder in folders {
        files_below(&docs.join(folder), &format!("{folder}/"), &mut there);
    }
    let listed: BTreeSet<String> =
        expected.iter().map(|(path, _)| path.clone()).filter(|path| path.contains('/')).collect();
    assert_eq!(there, listed, "run the tests with UPDATE=1");
    for (path, text) in expected {
        let found = std::fs::read_to_string(docs.join(&path)).unwrap_or_default();
        assert!(found == text, "docs/{path} is not in step; run the tests with UPDATE=1");
    }
}

/// Lines of `--diagnostics json` fit the published schema, which has no other fields.
#[test]
fn lines_of_diagnostics_fit_their_schema() {
    let path = repository().join("docs/schema/diagnostic.json");
    let mut schema: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the schema")).expect("JSON");
    schema["additionalProperties"] = false.into();
    schema["properties"]["risk"]["additionalProperties"] = false.into();
    let schema = bailiwick::yaml::schema::Schema::compile(schema).expect("a schema");
    let lines = std::fs::read_to_string(repository().join("tests/cases/lint/err-json/stderr")).expect("a case");
    let mut with_risk = 0;
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        with_risk += usize::from(line.get("risk").is_some());
        let tree = bailiwick::yaml::from_json(&line);
        let root = tree.document(0).expect("a document");
        assert!(schema.fits(root), "{line}");
    }
    assert!(with_risk > 1, "{lines}");
}

/// The first line of every policy of the repository names a schema that is there and that the file fits.
#[test]
fn examples_name_a_schema_that_works() {
    let mut files = BTreeSet::new();
    files_below(&repository().join("policies"), "policies/", &mut files);
    files.insert("bailiwick.yaml".to_owned());
    let mut checked = 0;
    for path in files.iter().filter(|path| path.ends_with(".yaml")) {
        let path = repository().join(path);
        let text = std::fs::read_to_string(&path).expect("text");
        // Objects of a Manifests policy have no schema of this program.
        if !text.contains("apiVersion: bailiwick.dev/") {
            continue;
        }
        let first = text.lines().next().unwrap_or_default();
        let schema =
            first.strip_prefix("# yaml-language-server: $schema=").unwrap_or_else(|| panic!("{}", path.display()));
        let schema = path.parent().expect("a folder").join(schema);
        let schema: Value =
            serde_json::from_str(&std::fs::read_to_string(&schema).expect("the schema is there")).expect("JSON");
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        for document in serde_yaml::Deserializer::from_str(&text) {
            let document: Value = serde::Deserialize::deserialize(document).expect("YAML");
            let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{}: {errors:?}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked}");
}

/// `spec.diagnostics` gives findings of `lint` their severities.
#[test]
fn codes_of_findings_are_known() {
    use bailiwick::access::risk;
    for code in codes::all() {
        let is_of_rule = risk::all().any(|rule| rule.code == *code && !rule.is_applied_while_compiling());
        // These findings are about policies and the output, and the risk rules see objects alone.
        let others = [
            codes::EXCLUDED_KIND,
            codes::EXPANDED_WILDCARD,
            codes::NAMESPACE_UNPROTECTED,
            codes::SHARD_TOO_LARGE,
            codes::SUBSTITUTION_IN_TEXT,
            codes::UNENFORCED_POD_SECURITY,
        ];
        let is_finding = is_of_rule || others.contains(code);
        assert_eq!(code.is_finding(), is_finding, "{}", code.id());
    }
}

#[test]
fn no_schema_needs_a_later_draft() {
    fn visit(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                found.extend(LATER_KEYWORDS.contains(&key.as_str()).then(|| key.clone()));
                visit(value, found);
            }),
            Value::Array(items) => items.iter().for_each(|item| visit(item, found)),
            _ => {}
        }
    }
    let of_kinds = kinds::names().filter_map(|name| Some((name, kinds::schema_of(name)?)));
    let of_objects = schemas::all().iter().map(|entry| (entry.kind, entry.document()));
    let all: Vec<_> = of_kinds.chain(of_objects).collect();
    assert!(all.len() > 25, "{}", all.len());
    for (name, schema) in all {
        let mut found = BTreeSet::new();
        visit(&schema, &mut found);
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}
