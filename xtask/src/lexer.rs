//! Rust's code without what only looks like code: comments, strings and characters become blanks.
//!
//! Lines and bytes keep their places. It knows just enough of the language for that, and parses nothing.

/// The text with blanks for comments, strings and characters.
pub(crate) fn code(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(first) = rest.chars().next() {
        let after_word = out.ends_with(is_word);
        let length = hidden(rest, after_word).unwrap_or(0);
        if length == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.extend(rest[..length].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    out
}

/// Whether a character belongs to a name.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where a word stands, as a whole word.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        !code[..*at].ends_with(is_word) && !code[at + word.len()..].starts_with(is_word)
    })
}

/// The line of an offset, from 1.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Bytes of the comment, string or character that begins here, if one does.
fn hidden(rest: &str, after_word: bool) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    match rest.as_bytes()[0] {
        b'"' => Some(1 + quoted(&rest[1..])),
        b'\'' => character(rest),
        b'r' | b'b' | b'c' if !after_word => raw_string(rest),
        _ => None,
    }
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let (step, change) = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        (at, depth) = (at + step, depth + change);
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Bytes up to and with the closing quote.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// `'x'` and `'\n'` are characters; `'a` is a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inside = &rest[1..];
    if let Some(escape) = inside.strip_prefix('\\') {
        let skipped = escape.chars().next().map_or(0, char::len_utf8);
        return escape[skipped..].find('\'').map(|at| 2 + skipped + at + 1);
    }
    let length = inside.chars().next()?.len_utf8();
    inside[length..].starts_with('\'').then_some(length + 2)
}

/// `r"…"`, `br#"…"#` and their kin; `r#fn` is a name.
fn raw_string(rest: &str) -> Option<usize> {
    let after_r = rest.strip_prefix(['b', 'c']).unwrap_or(rest).strip_prefix('r')?;
    let body = after_r.trim_start_matches('#');
    let close = format!("\"{}", "#".repeat(after_r.len() - body.len()));
    let open = rest.len() - body.len() + 1;
    let end = body.strip_prefix('"')?.find(&close).map(|at| open + at + close.len());
    Some(end.unwrap_or(rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same_shape(text: &str, expected: &str) {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&code(text)), expected, "{text}");
        assert_eq!(code(text).lines().count(), text.lines().count());
    }

    #[test]
    fn comments_and_strings_are_no_code() {
        same_shape("a // unsafe\nb", "a b");
        same_shape("a /* x /* unsafe */ y */ b", "a b");
        same_shape(r#"a("unsafe \" unsafe") b"#, "a( ) b");
        same_shape("a(r#\"unsafe \" { \"#) b", "a( ) b");
        same_shape("a(br\"unsafe\\\") b", "a( ) b");
        same_shape("let r#fn = for_each\"x\";", "let r#fn = for_each ;");
    }

    #[test]
    fn lifetimes_are_code_and_characters_are_not() {
        same_shape("fn f<'a>(x: &'a str) { '{' }", "fn f<'a>(x: &'a str) { }");
        same_shape(r"['\'', '\u{7b}', b'\n', 'ä']", "[ , , b , ]");
    }

    #[test]
    fn what_is_left_open_ends_with_the_file() {
        same_shape("a \"x", "a");
        same_shape("a /* x", "a");
        same_shape("a r#\"x\"", "a");
        same_shape("a '", "a '");
    }

    #[test]
    fn a_word_is_a_whole_word() {
        let code = "unsafe_code unsafe { notunsafe }\nunsafe fn";
        let lines: Vec<_> = words(code, "unsafe").map(|at| line_at(code, at)).collect();
        assert_eq!(lines, [1, 2]);
    }
}
