//! Everything that can lie below the output folder and that the policies do not say.
