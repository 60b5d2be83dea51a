//! Standard output and standard error, with colour where somebody watches.

use std::io::{self, IsTerminal, Write};

use anstream::AutoStream;

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    fn stream(self) -> anstream::ColorChoice {
        match self {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::AlwaysAnsi,
            ColorChoice::Never => anstream::ColorChoice::Never,
        }
    }
}

/// Where results and messages go.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    color: ColorChoice,
    quiet: bool,
}

impl Terminal {
    /// A terminal; a quiet one swallows what is not a result or a problem.
    pub fn new(color: ColorChoice, quiet: bool) -> Self {
        Self { color, quiet }
    }

    /// Prints a result, byte for byte. A reader that went away is not our problem.
    pub fn result(self, text: &str) {
        let mut stream = io::stdout().lock();
        let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    }

    /// Prints a problem.
    pub fn problem(self, text: &str) {
        let mut stream = AutoStream::new(io::stderr(), self.color.stream());
        let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    }

    /// Prints what is good to know.
    pub fn note(self, text: &str) {
        if !self.quiet {
            self.problem(text);
        }
    }

    /// True when somebody watches standard error and wants to.
    pub fn is_watched(self) -> bool {
        !self.quiet && io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
    }
}
