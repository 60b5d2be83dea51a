//! Names that nobody declares.
