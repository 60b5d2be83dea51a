//! The types of expressions, and their compatibility (cel-go v0.29.2 `checker/types.go` and `checker/mapping.go`).

use std::fmt;
use std::sync::Arc;

use super::objects::ObjectType;

/// The type of an expression.
#[derive(Debug, Clone)]
pub enum Type {
    /// It is not known here. Everything is taken for it, and it is taken for everything.
    Unknown,
    /// Any value; the API server checks the type at evaluation.
    Dyn,
    /// Nothing.
    Null,
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// A whole number without sign.
    UInt,
    /// Any other number.
    Double,
    /// A text.
    String,
    /// A sequence of bytes.
    Bytes,
    /// A point in time.
    Timestamp,
    /// A length of time.
    Duration,
    /// A list of values of one type.
    List(Arc<Type>),
    /// A map from values of one type to values of another.
    Map(Arc<Type>, Arc<Type>),
    /// An optional value.
    Optional(Arc<Type>),
    /// A type as a value.
    Type(Arc<Type>),
    /// A type with a name.
    Named(Arc<str>),
    /// An object with fields.
    Object(Arc<ObjectType>),
    /// A type to be inferred.
    Free(usize),
}

impl Type {
    pub(super) fn list(item: Type) -> Self {
        Self::List(Arc::new(item))
    }

    pub(super) fn map(key: Type, value: Type) -> Self {
        Self::Map(Arc::new(key), Arc::new(value))
    }

    pub(super) fn optional(inner: Type) -> Self {
        Self::Optional(Arc::new(inner))
    }

    pub(super) fn named(name: &str) -> Self {
        Self::Named(name.into())
    }

    /// Returns the type of a name in the table, without parameters.
    pub(super) fn simple(name: &str) -> Option<Self> {
        Some(match name {
            "dyn" => Self::Dyn,
            "null_type" => Self::Null,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "uint" => Self::UInt,
            "double" => Self::Double,
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "timestamp" => Self::Timestamp,
            "duration" => Self::Duration,
            _ => return None,
        })
    }

    /// Returns the types inside.
    fn inner(&self) -> [Option<&Type>; 2] {
        match self {
            Self::List(one) | Self::Optional(one) | Self::Type(one) => [Some(one), None],
            Self::Map(key, value) => [Some(key), Some(value)],
            _ => [None, None],
        }
    }

    /// Returns the same type with other types inside.
    fn with(&self, mut each: impl FnMut(&Type) -> Type) -> Type {
        match self {
            Self::List(item) => Self::list(each(item)),
            Self::Optional(inner) => Self::optional(each(inner)),
            Self::Type(inner) => Self::Type(Arc::new(each(inner))),
            Self::Map(key, value) => Self::map(each(key), each(value)),
            other => other.clone(),
        }
    }

    /// Whether two types are of one sort, without the types inside.
    fn is_alike(&self, other: &Type) -> bool {
        match (self, other) {
            (Self::Named(one), Self::Named(other)) => one == other,
            (Self::Object(one), Self::Object(other)) => one.path() == other.path(),
            (Self::Free(one), Self::Free(other)) => one == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// Returns a declared type with its free types numbered from a start.
    pub(super) fn instance(&self, start: usize) -> Type {
        match self {
            Self::Free(number) => Self::Free(number + start),
            other => other.with(|inner| inner.instance(start)),
        }
    }

    /// Returns the type of a variable in other expressions: of the types with parameters, only lists and maps keep
    /// them (`convertCelTypeToDeclType` of k8s.io/apiserver v0.37.2 `pkg/admission/plugin/cel/composition.go`).
    pub(super) fn of_variable(&self, depth: usize) -> Type {
        match self {
            _ if depth == 0 => Self::Unknown,
            Self::List(_) | Self::Map(..) => self.with(|inner| inner.of_variable(depth - 1)),
            Self::Optional(_) | Self::Type(_) | Self::Named(_) | Self::Object(_) | Self::Free(_) => Self::Dyn,
            simple => simple.clone(),
        }
    }
}

/// As the language writes it.
impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown | Self::Dyn | Self::Free(_) => out.write_str("dyn"),
            Self::Null => out.write_str("null"),
            Self::Bool => out.write_str("bool"),
            Self::Int => out.write_str("int"),
            Self::UInt => out.write_str("uint"),
            Self::Double => out.write_str("double"),
            Self::String => out.write_str("string"),
            Self::Bytes => out.write_str("bytes"),
            Self::Timestamp => out.write_str("timestamp"),
            Self::Duration => out.write_str("duration"),
            Self::List(item) => write!(out, "list({item})"),
            Self::Map(key, value) => write!(out, "map({key}, {value})"),
            Self::Optional(inner) => write!(out, "optional({inner})"),
            Self::Type(inner) => write!(out, "type({inner})"),
            Self::Named(name) => out.write_str(name),
            Self::Object(object) => out.write_str(object.path()),
        }
    }
}

/// The steps for the inference of one expression.
const STEPS: u32 = 400_000;
/// How deep types are looked at.
const DEEPEST: u32 = 400;

/// The types inferred for free types.
#[derive(Debug)]
pub(super) struct Types {
    found: Vec<Option<Type>>,
    /// The replaced types, so that a failed attempt can be undone.
    undo: Vec<(usize, Option<Type>)>,
    steps: u32,
    depth: u32,
}

impl Types {
    pub(super) fn new() -> Self {
        Self { found: Vec::new(), undo: Vec::new(), steps: STEPS, depth: 0 }
    }

    /// Whether the types are too large for the inference. Such an expression is accepted.
    pub(super) fn are_too_large(&self) -> bool {
        self.steps == 0
    }

    /// Returns the number of the first of some new free types.
    pub(super) fn fresh(&mut self, count: usize) -> usize {
        let start = self.found.len();
        self.found.resize(start + count, None);
        start
    }

    pub(super) fn free(&mut self) -> Type {
        Type::Free(self.fresh(1))
    }

    /// Counts a step. Whether a step was left.
    fn step(&mut self) -> bool {
        self.steps = self.steps.saturating_sub(1);
        if self.depth > DEEPEST {
            self.steps = 0;
        }
        self.steps > 0
    }

    /// Takes one type for another, if it fits.
    pub(super) fn assign(&mut self, from: &Type, to: &Type) -> bool {
        self.assign_all(std::slice::from_ref(from), std::slice::from_ref(to))
    }

    /// Takes some types for others, if all fit.
    pub(super) fn assign_all(&mut self, from: &[Type], to: &[Type]) -> bool {
        self.undo.clear();
        let fits = from.len() == to.len() && from.iter().zip(to).all(|(from, to)| self.fits(from, to));
        if !fits {
            while let Some((number, old)) = self.undo.pop() {
                if let Some(place) = self.found.get_mut(number) {
                    *place = old;
                }
            }
        }
        fits
    }

    fn fits(&mut self, from: &Type, to: &Type) -> bool {
        if !self.step() {
            return true;
        }
        self.depth += 1;
        let fits = self.fits_below(from, to);
        self.depth -= 1;
        fits
    }

    fn fits_below(&mut self, from: &Type, to: &Type) -> bool {
        if let Type::Free(number) = to {
            match self.bind(from, *number) {
                (true, _) => return true,
                (false, true) => return false,
                (false, false) => {}
            }
        }
        if let Type::Free(number) = from {
            return self.bind(to, *number).0;
        }
        match (from, to) {
            (Type::Unknown | Type::Dyn, _) | (_, Type::Unknown | Type::Dyn) => true,
            (Type::Null, other) | (other, Type::Null) => {
                matches!(
                    other,
                    Type::Null
                        | Type::Optional(_)
                        | Type::Named(_)
                        | Type::Object(_)
                        | Type::Duration
                        | Type::Timestamp
                )
            }
            (Type::Type(_), Type::Type(_)) => true,
            _ => {
                from.is_alike(to)
                    && from.inner().into_iter().zip(to.inner()).all(|pair| match pair {
                        (Some(from), Some(to)) => self.fits(from, to),
                        _ => true,
                    })
            }
        }
    }

    /// Takes a free type for another type: whether it fits, and whether the free type was known.
    fn bind(&mut self, other: &Type, number: usize) -> (bool, bool) {
        let free = Type::Free(number);
        if other.is_alike(&free) {
            return (true, true);
        }
        if let Some(known) = self.found.get(number).cloned().flatten() {
            if self.is_same(other, &known) {
                return (true, true);
            }
            if !self.fits(other, &known) {
                return (false, true);
            }
            let general = if self.is_as_general(other, &known) { other.clone() } else { known };
            if self.is_without(&free, &general) {
                self.set(number, general);
            }
            return (true, true);
        }
        let fits = self.is_without(&free, other);
        if fits {
            self.set(number, other.clone());
        }
        (fits, false)
    }

    fn set(&mut self, number: usize, to: Type) {
        if let Some(place) = self.found.get_mut(number) {
            self.undo.push((number, place.replace(to)));
        }
    }

    /// Whether two types are the same.
    pub(super) fn is_same(&mut self, one: &Type, other: &Type) -> bool {
        self.pairwise(one, other, |_, one, other| Some(one.is_alike(other)).filter(|same| !same))
    }

    /// Returns the more general of two compatible types.
    pub(super) fn general(&mut self, one: &Type, other: &Type) -> Type {
        if self.is_as_general(one, other) { one.clone() } else { other.clone() }
    }

    fn is_as_general(&mut self, one: &Type, other: &Type) -> bool {
        self.pairwise(one, other, |_, one, other| match (one, other) {
            (Type::Unknown | Type::Dyn | Type::Free(_), _) => Some(true),
            (_, Type::Unknown | Type::Dyn | Type::Free(_)) => Some(false),
            (Type::Type(_), Type::Type(_)) => Some(true),
            _ => Some(false).filter(|_| !one.is_alike(other)),
        })
    }

    /// Compares two types; the types inside decide if `look` does not.
    fn pairwise(&mut self, one: &Type, other: &Type, look: fn(&mut Self, &Type, &Type) -> Option<bool>) -> bool {
        if !self.step() {
            return true;
        }
        if let Some(decided) = look(self, one, other) {
            return decided;
        }
        self.depth += 1;
        let all = one.inner().into_iter().zip(other.inner()).all(|pair| match pair {
            (Some(one), Some(other)) => self.pairwise(one, other, look),
            _ => true,
        });
        self.depth -= 1;
        all
    }

    /// Whether a type is not part of another.
    fn is_without(&mut self, part: &Type, whole: &Type) -> bool {
        if !self.step() {
            return true;
        }
        self.depth += 1;
        let without = match whole {
            whole if whole.is_alike(part) => false,
            Type::Free(number) => match self.found.get(*number).cloned().flatten() {
                Some(known) => self.is_without(part, &known),
                None => true,
            },
            whole => whole.inner().into_iter().flatten().all(|inner| self.is_without(part, inner)),
        };
        self.depth -= 1;
        without
    }

    /// Returns a type with the inferred free types.
    pub(super) fn known(&mut self, of: &Type) -> Type {
        if !self.step() {
            return Type::Unknown;
        }
        self.depth += 1;
        let known = match of {
            Type::Free(number) => match self.found.get(*number).cloned().flatten() {
                Some(found) => self.known(&found),
                None => of.clone(),
            },
            other => other.with(|inner| self.known(inner)),
        };
        self.depth -= 1;
        known
    }

    /// Returns a type at the end of the inference: a free type is `dyn`.
    pub(super) fn settled(&mut self, of: &Type) -> Type {
        fn settle(known: &Type) -> Type {
            match known {
                Type::Free(_) => Type::Dyn,
                other => other.with(settle),
            }
        }
        settle(&self.known(of))
    }
}
