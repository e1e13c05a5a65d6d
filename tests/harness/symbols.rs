//! Where stationd's functions are in the file that the image has, for probes of the kernel.
//!
//! The image has the program without its symbols, and everything else of it in the same place.

use std::{
    fs,
    path::{Path, PathBuf},
};

use object::{Object, ObjectSegment, ObjectSymbol};

use super::headroom::device_program;

/// stationd as the build left it, with its symbols.
pub(crate) fn stationd() -> PathBuf {
    device_program("stationd")
}

/// Where in a file the one function begins whose symbol is meant.
pub(crate) fn offset_in(path: &Path, meant: impl Fn(&str) -> bool) -> u64 {
    let bytes = fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let named = |symbol: &object::Symbol<'_, '_>| symbol.name().is_ok_and(&meant);
    let found: Vec<_> = file.symbols().filter(named).collect();
    let [symbol] = found.as_slice() else { panic!("{} symbols are meant", found.len()) };
    let here = |segment: &object::Segment<'_, '_>| {
        (segment.address()..segment.address() + segment.size()).contains(&symbol.address())
    };
    let segment = file.segments().find(here).unwrap();
    symbol.address() - segment.address() + segment.file_range().0
}
