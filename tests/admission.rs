//! Tables of questions about admission, with the answers expected of them.

mod labels;
mod scc;
