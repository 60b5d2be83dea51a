//! A check of the expressions of a ValidatingAdmissionPolicy against the matching kinds (k8s.io/apiserver v0.37.2
//! `pkg/admission/plugin/policy/validating/typechecking.go`).
//!
//! The API server accepts a policy with expressions valid for objects of any kind. A controller then compiles them
//! again for each kind of the policy, and writes the errors into `status.typeChecking`. The errors do not change the
//! decisions of the policy.
//!
//! The controller considers the rules of `matchConstraints.resourceRules` without `*` in groups and versions, ten
//! kinds of a rule at most, and `expression` and `messageExpression` of `validations`. A kind with unknown fields is
//! left out: a custom resource without a definition among the inputs, and a kind of OpenShift.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use crate::catalogue::Catalogue;
use crate::custom_fields::CustomFields;
use crate::openapi::{FieldType, KindFields, TypeId};
use bailiwick_cel::{self as cel, ExpectedType, ExpressionError, ExpressionScope, Fields, Type, ValueSchema};
use bailiwick_yaml::{NodeId, NodeRef};

use super::{items, text};

/// The first minor with `admissionregistration.k8s.io/v1`.
const FIRST_MINOR: u32 = 30;
/// The first minor with `params` for a kind with unknown fields.
const FIRST_WITH_PARAMS_OF_ANY_KIND: u32 = 36;
/// The most kinds of a rule.
const MOST_KINDS: usize = 10;
/// The limit in bytes of compiled expressions, counted once for each kind.
const MOST_BYTES: usize = 4 << 20;
/// The limit of kinds compared with the rules of a policy.
const MOST_LOOKUPS: usize = 200_000;

/// The compiled fields of a validation.
const EXPRESSIONS: [&str; 2] = ["expression", "messageExpression"];

/// An expression with an error for a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The path of the expression, such as `spec.validations[0].expression`.
    pub field: String,
    /// Tested kind of object.
    pub kind: GroupVersionKind,
    /// Text of the compiler.
    pub reason: String,
}

/// The reason why the expressions of a policy are not compiled for its kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unchecked {
    /// The expressions have so many bytes, for so many kinds.
    Expressions {
        /// The bytes of the expressions.
        bytes: usize,
        /// The number of kinds.
        kinds: usize,
    },
    /// The rules name too many resources.
    Rules,
}

/// As the end of a sentence.
impl fmt::Display for Unchecked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expressions { bytes, kinds } => write!(out, "{bytes} bytes of expressions for {kinds} kinds"),
            Self::Rules => out.write_str("rules with very many resources"),
        }
    }
}

/// A kind of objects, in the order of the controller.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupVersionKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// Such as `v1`.
    pub version: String,
    /// Word in a manifest.
    pub name: String,
}

/// As manifests name it: `apps/v1 Deployment`.
impl fmt::Display for GroupVersionKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.api_version(), self.name)
    }
}

impl GroupVersionKind {
    /// Returns the group and the version, such as `apps/v1`.
    pub fn api_version(&self) -> String {
        let slash = if self.group.is_empty() { "" } else { "/" };
        format!("{}{slash}{}", self.group, self.version)
    }
}

/// Returns the expressions of a policy with errors, by expression and kind.
///
/// `catalogue` has the resources of the API server at `minor`, and `definitions` the fields of custom resources.
///
/// # Errors
/// The expressions are too long, or the rules name too many resources.
pub fn misfits(
    policy: NodeRef<'_>,
    minor: u32,
    catalogue: &Catalogue,
    definitions: &[Arc<CustomFields>],
) -> Result<Vec<Misfit>, Unchecked> {
    let Some(spec) = policy.get("spec").filter(|_| minor >= FIRST_MINOR) else { return Ok(Vec::new()) };
    let kinds = kinds(spec, minor, catalogue)?;
    let sources = items(spec, "variables")
        .chain(items(spec, "validations"))
        .flat_map(|(_, item)| EXPRESSIONS.map(|field| text(item, field)));
    let bytes: usize = sources.map(str::len).sum();
    if bytes.saturating_mul(kinds.len()) > MOST_BYTES {
        return Err(Unchecked::Expressions { bytes, kinds: kinds.len() });
    }
    let params = spec.get("paramKind").filter(|kind| kind.is_map());
    let params_type = params.and_then(|kind| {
        root_schema(minor, definitions, text(kind, "apiVersion"), text(kind, "kind"))
            .map(|schema| Type::of_schema(schema, "params"))
    });
    let mut found = Vec::new();
    for kind in kinds {
        let Some(schema) = root_schema(minor, definitions, &kind.api_version(), &kind.name) else { continue };
        let mut scope = ExpressionScope {
            minor,
            is_stored: true,
            params: params.is_some() && (params_type.is_some() || minor >= FIRST_WITH_PARAMS_OF_ANY_KIND),
            authorizer: true,
            variables: Some(BTreeMap::new()),
            object_type: Some(Type::of_schema(schema, "object")),
            params_type: params_type.clone(),
            ..ExpressionScope::default()
        };
        for (_, variable) in items(spec, "variables") {
            // The errors of a variable are not reported; its type is any.
            let of = cel::compiled(text(variable, "expression"), &scope, ExpectedType::Any).unwrap_or(Type::Dyn);
            scope.variables.iter_mut().for_each(|known| {
                known.insert(text(variable, "name").to_owned(), of.clone());
            });
        }
        for (index, validation) in items(spec, "validations") {
            for field in EXPRESSIONS {
                let source = text(validation, field);
                if source.is_empty() {
                    continue;
                }
                if let Err(ExpressionError::Syntax(reason) | ExpressionError::Meaning(reason)) =
                    cel::compiled(source, &scope, ExpectedType::Any)
                {
                    let field = format!("spec.validations[{index}].{field}");
                    found.push((index, Misfit { field, kind: kind.clone(), reason }));
                }
            }
        }
    }
    found
        .sort_by(|(one, left), (other, right)| (one, &left.field, &left.kind).cmp(&(other, &right.field, &right.kind)));
    Ok(found.into_iter().map(|(_, misfit)| misfit).collect())
}

/// Returns the kinds tested with the expressions of a policy.
///
/// A rule has groups, versions and resources. The names of resources are looked up, rather than all combinations of
/// the words; the order is the order of the combinations, because only the first kinds of a rule count.
fn kinds(spec: NodeRef<'_>, minor: u32, catalogue: &Catalogue) -> Result<BTreeSet<GroupVersionKind>, Unchecked> {
    let mut found = BTreeSet::new();
    let mut lookups = 0_usize;
    for rule in spec.path(&["matchConstraints", "resourceRules"]).into_iter().flat_map(NodeRef::items) {
        let (groups, versions) = (words(rule, "apiGroups"), words(rule, "apiVersions"));
        if groups.keys().chain(versions.keys()).any(|word| word.contains('*')) {
            continue;
        }
        let times = |words: &BTreeMap<&str, usize>, word: &str| words.get(word).copied().unwrap_or(0);
        let mut matches = Vec::new();
        for (name, times_of_name) in words(rule, "resources") {
            for served in catalogue.kinds_of_resource(minor, name) {
                lookups += 1;
                if lookups > MOST_LOOKUPS {
                    return Err(Unchecked::Rules);
                }
                // The core group stands for all groups.
                for group in BTreeSet::from(["", served.group]) {
                    let times = times(&groups, group) * times(&versions, served.version) * times_of_name;
                    if let Some((group, _)) = groups.get_key_value(group).filter(|_| times > 0) {
                        matches.push(((*group, served.version, name), times, served));
                    }
                }
            }
        }
        matches.sort_by_key(|(words, ..)| *words);
        let mut count = 0;
        for (_, times, served) in matches {
            let (group, version, name) = (served.group.to_owned(), served.version.to_owned(), served.kind.to_owned());
            found.insert(GroupVersionKind { group, version, name });
            count += times;
            if count >= MOST_KINDS {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// Returns the words of a field of a rule, and how often each is there.
fn words<'t>(rule: NodeRef<'t>, field: &str) -> BTreeMap<&'t str, usize> {
    let mut words = BTreeMap::new();
    for word in items(rule, field).filter_map(|(_, word)| word.as_str()) {
        *words.entry(word).or_default() += 1;
    }
    words
}

/// Returns the schema of the pods of a Kubernetes minor.
pub fn pod_schema(minor: u32) -> Option<ValueSchema> {
    root_schema(minor, &[], "v1", "Pod")
}

/// Returns the schema of the objects of a kind.
fn root_schema(minor: u32, definitions: &[Arc<CustomFields>], api_version: &str, kind: &str) -> Option<ValueSchema> {
    if let Some(fields) = KindFields::find(minor, api_version, kind) {
        let root = TypeId::of_kind(fields);
        return Some(ValueSchema::Object(Arc::new(BuiltInObject { minor, of_type: root, around: vec![root] })));
    }
    let custom = definitions.iter().rev().find(|definition| definition.is_of(api_version, kind))?;
    let schema = custom.schema().id();
    Some(ValueSchema::Object(Arc::new(CustomObject { custom: Arc::clone(custom), schema, minor, is_resource: true })))
}

/// An object of a built-in type.
#[derive(Debug)]
struct BuiltInObject {
    minor: u32,
    of_type: TypeId,
    /// The types from the kind to this one. A type inside itself has no fields.
    around: Vec<TypeId>,
}

impl Fields for BuiltInObject {
    fn names(&self) -> Vec<String> {
        self.of_type.fields(self.minor).map(|(name, _)| name.to_owned()).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.of_type.fields(self.minor).any(|(known, _)| known == name)
    }

    fn field(&self, name: &str) -> Option<ValueSchema> {
        let form = self.of_type.fields(self.minor).find(|(known, _)| *known == name)?.1;
        self.schema(form)
    }
}

impl BuiltInObject {
    /// Returns the schema of a value. Quantities and the free values of a CustomResourceDefinition have no type in the
    /// controller's definitions (k8s.io/kubernetes v1.37.2 `pkg/generated/openapi`), and are absent for expressions.
    fn schema(&self, form: &FieldType) -> Option<ValueSchema> {
        Some(match form {
            FieldType::Any
            | FieldType::Quantity
            | FieldType::SchemaOrBool
            | FieldType::SchemaOrList
            | FieldType::SchemaOrStrings => {
                return None;
            }
            FieldType::AnyObject => ValueSchema::Object(Arc::new(NoFields)),
            FieldType::Boolean => ValueSchema::Bool,
            FieldType::Bytes => ValueSchema::Bytes,
            FieldType::Int32 | FieldType::Int64 => ValueSchema::Int,
            FieldType::IntOrString => ValueSchema::Any,
            FieldType::MicroTime | FieldType::Time => ValueSchema::Timestamp,
            FieldType::Number => ValueSchema::Double,
            FieldType::Text | FieldType::Word(_) => ValueSchema::String,
            FieldType::List(items) => ValueSchema::List(Box::new(self.schema(items)?)),
            FieldType::Map(values) => ValueSchema::Map(Box::new(self.schema(values)?)),
            FieldType::Object(inner) if self.around.contains(inner) => ValueSchema::Object(Arc::new(NoFields)),
            FieldType::Object(inner) => {
                let around = self.around.iter().copied().chain([*inner]).collect();
                ValueSchema::Object(Arc::new(BuiltInObject { minor: self.minor, of_type: *inner, around }))
            }
        })
    }
}

/// An object without known fields.
#[derive(Debug)]
struct NoFields;

impl Fields for NoFields {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn has(&self, _: &str) -> bool {
        false
    }

    fn field(&self, _: &str) -> Option<ValueSchema> {
        None
    }
}

/// An object of a custom resource, by the schema of the definition.
#[derive(Debug)]
struct CustomObject {
    custom: Arc<CustomFields>,
    schema: NodeId,
    minor: u32,
    /// Whether the object has an `apiVersion`, a `kind` and metadata beside the schema.
    is_resource: bool,
}

/// How many names of fields are few.
const FEW: usize = 200;
/// The fields of every custom resource.
const OF_RESOURCES: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl Fields for CustomObject {
    fn names(&self) -> Vec<String> {
        let own = self.custom.properties_of(self.schema).filter(|own| own.len() <= FEW);
        let mut names: Vec<String> = own.into_iter().flat_map(HashMap::keys).cloned().collect();
        names.sort_unstable();
        if self.is_resource {
            names.extend(OF_RESOURCES.map(str::to_owned));
        }
        names
    }

    fn has(&self, name: &str) -> bool {
        let own = self.custom.properties_of(self.schema);
        own.is_some_and(|own| own.contains_key(name)) || self.is_resource && OF_RESOURCES.contains(&name)
    }

    fn field(&self, name: &str) -> Option<ValueSchema> {
        match name {
            "apiVersion" | "kind" if self.is_resource => Some(ValueSchema::String),
            "metadata" if self.is_resource => {
                let of_type = TypeId::of_metadata()?;
                Some(ValueSchema::Object(Arc::new(BuiltInObject { minor: self.minor, of_type, around: vec![of_type] })))
            }
            _ => self.value(self.custom.schema_at(*self.custom.properties_of(self.schema)?.get(name)?)),
        }
    }
}

impl CustomObject {
    fn value(&self, schema: NodeRef<'_>) -> Option<ValueSchema> {
        let flag = |key: &str| schema.get(key).and_then(NodeRef::as_bool) == Some(true);
        let format = text(schema, "format");
        if flag("x-kubernetes-int-or-string") || format == "int-or-string" {
            return Some(ValueSchema::Any);
        }
        Some(match text(schema, "type") {
            "array" => ValueSchema::List(Box::new(self.value(schema.get("items")?)?)),
            "object" => match schema.get("additionalProperties").filter(|values| values.is_map()) {
                Some(values) => ValueSchema::Map(Box::new(self.value(values)?)),
                None => ValueSchema::Object(Arc::new(CustomObject {
                    custom: Arc::clone(&self.custom),
                    schema: schema.id(),
                    minor: self.minor,
                    is_resource: flag("x-kubernetes-embedded-resource"),
                })),
            },
            "string" => match format {
                "byte" => ValueSchema::Bytes,
                "duration" => ValueSchema::Duration,
                "date" | "date-time" => ValueSchema::Timestamp,
                _ => ValueSchema::String,
            },
            "boolean" => ValueSchema::Bool,
            "number" => ValueSchema::Double,
            "integer" => ValueSchema::Int,
            _ => return None,
        })
    }
}
