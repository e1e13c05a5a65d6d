//! Object paths, as libamxd takes them apart: into words on the heap, these into parts, and the last may be a parameter.

use std::{collections::LinkedList, fmt, mem};

use crate::variant::Variant;

#[derive(Debug, Default)]
pub(crate) struct Path {
    text: String,
    parts: LinkedList<Variant>,
    parameter: Option<String>,
}

impl Path {
    /// Takes another path, which a format makes.
    pub(crate) fn set(&mut self, path: fmt::Arguments<'_>) {
        self.text.clear();
        append(&mut self.text, path);
        self.parts = build_path_parts(&split_words(&self.text));
        self.take_parameter();
    }

    /// The parts that name objects, with a full stop at the end.
    pub(crate) fn object(&mut self) -> &str {
        if !self.text.ends_with('.') {
            append(&mut self.text, format_args!("."));
        }
        &self.text
    }

    pub(crate) fn parameter(&self) -> Option<&str> {
        self.parameter.as_deref()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let texts = self.parts.iter().filter_map(Variant::as_text);
        texts.map(|text| text.trim_end_matches('.')).filter(|name| !name.is_empty())
    }

    fn take_parameter(&mut self) {
        self.parameter = None;
        match self.parts.pop_back() {
            Some(Variant::Text(last)) if !last.ends_with('.') => self.parameter = Some(last),
            object => return self.parts.extend(object),
        }
        if self.parts.is_empty() {
            self.parts.push_back(Variant::text("."));
        }
        self.text.clear();
        for part in &self.parts {
            append(&mut self.text, format_args!("{}", part.as_text().unwrap_or_default()));
        }
    }
}

/// A text's words, and the punctuation between them.
fn split_words(text: &str) -> LinkedList<String> {
    let (mut words, mut start) = (LinkedList::new(), 0);
    for (place, byte) in text.bytes().enumerate() {
        if byte.is_ascii_whitespace() || byte.is_ascii_punctuation() {
            words.extend((place > start).then(|| text[start..place].to_owned()));
            words.push_back(text[place..=place].to_owned());
            start = place + 1;
        }
    }
    words.extend((start < text.len()).then(|| text[start..].to_owned()));
    words
}

/// The words up to each full stop.
fn build_path_parts(words: &LinkedList<String>) -> LinkedList<Variant> {
    let (mut parts, mut part) = (LinkedList::new(), String::new());
    for word in words {
        append(&mut part, format_args!("{word}"));
        if word == "." {
            parts.push_back(Variant::text(&mem::take(&mut part)));
        }
    }
    parts.extend((!part.is_empty()).then(|| Variant::text(&part)));
    parts
}

/// Appends what a format makes: it is made twice, first to know how much room the text lacks.
#[inline(never)]
fn append(text: &mut String, format: fmt::Arguments<'_>) {
    struct Length(usize);
    impl fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut length = Length(0);
    // Neither a number nor a text with room refuses anything.
    let _ = fmt::write(&mut length, format);
    text.reserve_exact(length.0);
    let _ = fmt::write(text, format);
}
