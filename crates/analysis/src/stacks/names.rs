//! Symbols as people write them: Rust's without their hash, C++'s with parameters, C's as they are.
//!
//! What a compiler appended is kept (`.constprop.0`, `.isra.0`, `.part.0`, `.cold`), because it says which
//! code ran; `.llvm.…` is a number of no one's interest, and goes.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// Longer names are cut: a short mangled name can stand for one that fills the memory.
const LONGEST: usize = 4096;

/// A symbol, readable.
pub fn readable(raw: &str) -> String {
    let raw = without_unit(without_version(raw));
    rust(raw)
        .or_else(|| cpp(raw))
        .unwrap_or_else(|| raw[..raw.floor_char_boundary(LONGEST)].to_owned())
}

/// Without the number that LLVM gives a name's compilation unit, which is another in another build.
pub(super) fn without_unit(raw: &str) -> &str {
    raw.split_once(".llvm.").map_or(raw, |(name, _)| name)
}

/// Whether a name is mangled: what people write never is.
pub fn is_mangled(raw: &str) -> bool {
    raw.starts_with("_Z") || raw.starts_with("_R") || raw.starts_with("__Z")
}

/// `memcpy@@GLIBC_2.14` is `memcpy`; `memcpy@plt` is what we named ourselves.
fn without_version(raw: &str) -> &str {
    match raw.split_once('@') {
        Some((name, version)) if !name.is_empty() && version != "plt" => name,
        _ => raw,
    }
}

fn rust(raw: &str) -> Option<String> {
    let (name, tail) = without_tail(raw);
    let name = rustc_demangle::try_demangle(name).ok()?;
    let mut out = Bounded::default();
    // The alternate form has no hash.
    let _ = write!(out, "{name:#}{tail}");
    (!out.0.is_empty()).then_some(out.0)
}

fn cpp(raw: &str) -> Option<String> {
    if !raw.starts_with("_Z") {
        return None;
    }
    let (name, tail) = without_tail(raw);
    let symbol = Symbol::new(name.as_bytes()).ok()?;
    let mut out = Bounded::default();
    let options = DemangleOptions::new().no_return_type();
    symbol.structured_demangle(&mut out, &options).ok()?;
    let _ = out.write_str(tail);
    (!out.0.is_empty()).then_some(out.0)
}

/// `strlen@plt` of mangled names, and what a compiler appended.
fn without_tail(raw: &str) -> (&str, &str) {
    let ours = raw.find("@plt");
    // Rust's older mangling has pairs of dots within; a tail is one dot and a letter.
    let appended = raw.match_indices('.').map(|(at, _)| at).find(|at| {
        let around = |place: Option<usize>| place.and_then(|place| raw.as_bytes().get(place));
        around(at.checked_sub(1)) != Some(&b'.')
            && around(at.checked_add(1)).is_some_and(u8::is_ascii_lowercase)
    });
    let at = match (ours, appended) {
        (Some(first), Some(second)) => first.min(second),
        (first, second) => first.or(second).unwrap_or(raw.len()),
    };
    raw.split_at_checked(at).unwrap_or((raw, ""))
}

/// Takes so much, and then no more.
#[derive(Default)]
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = LONGEST - self.0.len().min(LONGEST);
        if text.len() > rest {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_names_lose_their_hash() {
        let raw = "_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE";
        assert_eq!(readable(raw), "core::ptr::drop_in_place<alloc::string::String>");
        assert_eq!(readable("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(
            readable("_ZN8stationd4main17h0123456789abcdefE.llvm.1234567890"),
            "stationd::main"
        );
        assert_eq!(readable("_ZN8stationd4main17h0123456789abcdefE.cold"), "stationd::main.cold");
    }

    #[test]
    fn cpp_names_keep_their_parameters_and_what_the_compiler_appended() {
        assert_eq!(readable("_ZN2ns3addEii"), "ns::add(int, int)");
        assert_eq!(readable("_ZN2ns3addEii.constprop.0"), "ns::add(int, int).constprop.0");
        assert_eq!(readable("_ZN2ns3addEii@plt"), "ns::add(int, int)@plt");
    }

    #[test]
    fn c_names_stay_and_versions_go() {
        assert_eq!(readable("foo.isra.0"), "foo.isra.0");
        assert_eq!(readable("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(readable("strlen@plt"), "strlen@plt");
        assert_eq!(readable(""), "");
        assert_eq!(readable("_Zx"), "_Zx");
    }

    #[test]
    fn a_name_that_explodes_is_left_as_it_is() {
        let raw = format!("_Z1fI{}E", "S_S_".repeat(3000));
        assert!(readable(&raw).len() <= LONGEST);
        assert!(readable(&"é".repeat(5000)).len() <= LONGEST);
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_readable(name in "(_ZN|_R|_Z)?[a-zA-Z0-9_$.@]{0,200}") {
            proptest::prop_assert!(readable(&name).len() <= LONGEST);
        }
    }
}
