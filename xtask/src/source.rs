//! One Rust file: its text, and its text as code.

use crate::lexer;

/// A Rust file of the repository.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// From the repository's root, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Without comments, strings and characters; lines keep their places.
    pub(crate) code: String,
}

impl Source {
    /// The file at this path with this text.
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { path: path.into(), code: lexer::code(&text), text }
    }
}
