#![doc = include_str!("../README.md")]
//!
//! # Tour
//!
//! ```text
//! package folder -> package::Package --\
//!                                       stack::Stack -> object::PackageObject, object::PackageObject, ...
//! StackInstall   -> install::Install --/       \-> conflicts, order: several stacks in one cluster
//! ```
//!
//! - [`package`] is a package of the Stack Manager with its [`definition`]s, [`dependency`] list and [`metadata`];
//!   [`install`] is a request for it.
//! - [`stack`] returns the objects of an installed package by [`revision`], and [`controller`] its Deployment or Job.
//! - [`conflicts`], [`order`] and [`upgrade`] compare several stacks, or two states of one.
//! - [`manager`] has the least permissions of the installer, [`reach`] the permissions of a stack beyond its namespace, and
//!   [`gate`] Crossplane's own checks of requested permissions.
//! - [`provider`] has the roles of providers and composite resources of Crossplane v1 and v2, and [`personas`] the roles
//!   for people.
//! - [`image`], [`names`] and [`object`] are the parts common to all of them.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub mod codes;
pub mod conflicts;
pub mod controller;
pub mod definition;
pub mod dependency;
pub mod gate;
pub mod image;
pub mod install;
pub mod manager;
pub mod metadata;
pub mod names;
pub mod object;
pub mod order;
pub mod package;
pub mod personas;
pub mod provider;
pub mod reach;
pub mod revision;
pub mod stack;
pub mod upgrade;
