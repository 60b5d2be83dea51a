//! The values of `--report FORM=FILE`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

use super::Global;
use crate::app::Error;
use crate::diag::RunError;
use crate::emit::writer;

/// A form of a result, and the file to write.
#[derive(Debug, Clone)]
pub(super) struct FormFile<F> {
    pub(super) form: F,
    pub(super) file: PathBuf,
}

/// A refused value, with the reason.
#[derive(Debug)]
pub(super) struct Refused(pub(super) String);

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl<F: ValueEnum> FromStr for FormFile<F> {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let names = || {
            let values = F::value_variants().iter().filter_map(F::to_possible_value);
            values.map(|value| value.get_name().to_owned()).collect::<Vec<_>>().join(", ")
        };
        let (form, file) =
            text.split_once('=').ok_or_else(|| Refused(format!("write FORM=FILE; the forms are {}", names())))?;
        let form = F::from_str(form, false)
            .map_err(|_| Refused(format!("there is no form `{form}`; the forms are {}", names())))?;
        if file.is_empty() {
            return Err(Refused("the file is missing".to_owned()));
        }
        Ok(Self { form, file: file.into() })
    }
}

impl<F> FormFile<F> {
    /// Whether the result goes to standard output.
    pub(super) fn is_output(&self) -> bool {
        self.file.as_os_str() == "-"
    }

    /// Writes the file.
    pub(super) fn replace(&self, global: &Global, text: &str) -> Result<(), Error> {
        let path = global.at(&self.file);
        writer::replace(&path, text.as_bytes()).map_err(|error| RunError::io("write", &path, &error).into())
    }
}
