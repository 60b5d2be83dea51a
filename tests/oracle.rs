//! The opponent of the evaluator (STYLE.md, habit 14): the same answers, found slowly and by another hand.

mod aggregate;
mod compare;
mod cover;
mod crossplane;
mod decide;
mod evaluate;
mod http;
mod impersonate;
mod read;
mod reconcile;
mod write;

pub(crate) use evaluate::Naive;
pub(crate) use read::{pruned, tidy_rules};
