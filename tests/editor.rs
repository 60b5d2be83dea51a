//! The language server, through the program: diagnostics while a text is typed, completions, documentation, definitions and
//! corrections.

mod client;
mod hostile;
mod requests;
mod typing;
