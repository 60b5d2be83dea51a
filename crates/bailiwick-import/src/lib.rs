#![doc = include_str!("../README.md")]
//!
//! # Tour
//!
//! - [`InternedValues`] has the values of all objects, each once, and [`ClusterObjects`] the objects of a cluster in stored form.
//! - [`fold::fold`] folds a cluster into policies, and [`layout::arrange`] arranges the policies of all clusters as files.
//! - [`least::policy_file`] writes the least rights of users as policies.
//! - [`access`] recognises differences of RBAC objects without an effect.

pub mod access;
pub mod codes;
pub mod fold;
pub mod layout;
pub mod least;
mod normal;
mod object;
mod omitted;
mod text;
mod values;

pub use normal::normalize;
pub use object::{ClusterObjects, Object, ObjectKey, SourcePlace};
pub use omitted::ControlPlane;
pub use values::{InternedValue, InternedValues, ValueId};
