//! Texts that are alike: the shape of a text is the text with a hole for each value that belongs to one tenant.
//!
//! ```text
//! text + hints -> Shape (text with holes) + Values (what stands in the holes)        fill(shape, values) == text
//! (digest, values) of many texts -> Fold: the first, how many more, and the ranges of their values
//! ```
//!
//! The hints are the name of a namespace and, where they are known, the texts of the account behind it. A value is a hole
//! where it stands as a whole word of a YAML value, and never where Kubernetes reads words of its own. Texts whose shapes
//! have equal digests differ in nothing but their values.
//!
//! `diff` groups files by the shape of their changes, and `lint` groups findings by the shape of their reasons. `migrate`
//! makes a Tenancy of policies with one shape. The compiler does not check a text again that has the shape of a checked one.

mod fold;
mod hints;
mod lines;
mod name;
mod shape;

pub use self::fold::{Distinct, Fold, Group, NAMED, Ranges};
pub use self::hints::Hints;
pub use self::name::{OwnName, is_own_value};
pub use self::shape::{ColumnValue, Hole, Note, Own, Shape, Values, common_prefix, common_suffix};
