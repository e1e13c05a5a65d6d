//! Where functions are and how long: from the line of `fn` to its closing brace.
//!
//! Works on [`crate::lexer::code`], where every brace is a brace.

use crate::lexer::{is_word, line_at, words};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The line of its `fn`, from 1.
    pub(crate) line: usize,
    /// Its lines, first and last included.
    pub(crate) lines: usize,
    /// Whether an argument is a tuple that is taken apart at once.
    pub(crate) takes_tuple: bool,
}

/// Every function with a body.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    words(code, "fn").filter_map(|at| function(code, at)).collect()
}

fn function(code: &str, at: usize) -> Option<Function> {
    let after = code[at + 2..].trim_start();
    let name: String = after.chars().take_while(|c| is_word(*c) || *c == '#').collect();
    // `fn(` is the type of a function, not one.
    if name.is_empty() {
        return None;
    }
    let open = body(&code[at..])? + at;
    let close = closing(&code[open..])? + open;
    let line = line_at(code, at);
    let lines = line_at(code, close) - line + 1;
    Some(Function { name, line, lines, takes_tuple: takes_tuple(&code[at..open]) })
}

/// Whether an argument in a function's head begins with a bracket: behind the bracket of all arguments, or behind a
/// comma in it.
fn takes_tuple(head: &str) -> bool {
    let (mut round, mut angle) = (0, 0);
    let mut begins = false;
    let mut last = ' ';
    for c in head.chars() {
        match c {
            '(' if begins => return true,
            '(' | '[' if angle == 0 => round += 1,
            ')' | ']' if angle == 0 => round -= 1,
            '<' => angle += 1,
            '>' if last != '-' => angle -= 1,
            _ => {}
        }
        let is_start = matches!(c, '(' | ',') && round == 1 && angle == 0;
        begins = is_start || (begins && c.is_whitespace());
        if round == 0 && c == ')' && angle == 0 {
            return false;
        }
        last = c;
    }
    false
}

/// The brace that opens the body; a semicolon outside of brackets comes first where there is none.
fn body(code: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if depth == 0 => return Some(at),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The brace that closes the one at the beginning.
fn closing(code: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_goes_from_its_name_to_its_closing_brace() {
        let code = "trait T { fn none(x: [u8; 4]); }\n\
                    fn one() {}\n\
                    fn two(f: fn(u8) -> u8, x: [u8; 4])\nwhere\n{\n    if x { f(1) }\n}\n";
        let found: Vec<_> =
            functions(code).into_iter().map(|f| (f.name, f.line, f.lines)).collect();
        assert_eq!(found, [("one".to_owned(), 2, 1), ("two".to_owned(), 3, 5)]);
    }

    #[test]
    fn a_function_within_counts_for_both() {
        let lines: Vec<_> =
            functions("fn outer() {\nfn inner() {\n}\n}").iter().map(|f| f.lines).collect();
        assert_eq!(lines, [4, 2]);
    }

    #[test]
    fn a_file_that_ends_too_early_has_no_function() {
        assert_eq!(functions("fn open() { {"), []);
        assert_eq!(functions("fn"), []);
    }

    #[test]
    fn a_tuple_that_is_taken_apart_in_the_head_is_seen() {
        let takes = |head: &str| functions(&format!("{head} {{}}"))[0].takes_tuple;
        for head in [
            "fn f((a, b): (u8, u8))",
            "fn f<T: Fn(u8) -> u8>(\n    &self,\n    (a, b): (u8, u8),\n)",
        ] {
            assert!(takes(head), "{head}");
        }
        for head in [
            "fn f(a: (u8, u8), b: impl Fn((u8, u8)) -> u8) -> (u8, u8)",
            "fn f()",
            "fn f<F: Fn(u8)>(a: Vec<(u8, u8)>, b: F)",
        ] {
            assert!(!takes(head), "{head}");
        }
    }
}
