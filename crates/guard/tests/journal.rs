//! Every input of the fuzzer's corpus is held to what the fuzzer holds its own to.
//!
//! The inputs stand in `fuzz/corpus/journal`; `fuzz/fuzz_targets/permitted.rs` says what must hold.

#[path = "../../../fuzz/fuzz_targets/permitted.rs"]
mod permitted;

use std::{fs, path::Path};

#[test]
fn every_input_is_read_without_a_panic_and_permits_only_what_guard_changes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/journal");
    let (mut permitted, mut all) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let judged = permitted::judge(&fs::read(entry.unwrap().path()).unwrap());
        (permitted, all) = (permitted + judged.0, all + judged.1);
    }
    assert!(0 < permitted && permitted < all, "{permitted} of {all}");
}
