//! `headroom image`, and a run whose image is no longer what it was.

use std::fs;

use crate::harness::{Place, PrivateCache, Study, stationd};

#[test]
fn an_image_is_described_for_machines_and_old_ones_are_pruned() {
    let place = Place::with_guests();
    let cache = PrivateCache::copy(&place);
    let call = |words: &str| place.headroom(words).env("HEADROOM_CACHE", cache.path()).run();
    let image = call("image --json").code(0).json();
    assert!(fs::metadata(image["kernel"].as_str().unwrap()).unwrap().len() > 1_000_000);
    let packages = image["packages"].as_array().unwrap();
    assert!(packages.iter().any(|one| one.as_str().unwrap().starts_with("hostapd_")));
    assert!(packages.iter().any(|one| one.as_str().unwrap().starts_with("prometheus-node-")));

    // The base needs no program of ours.
    place.folder("empty");
    let base = call("image --base --json --device empty").code(0).json();
    let base = std::path::PathBuf::from(base["base"].as_str().unwrap());
    assert!(cache.entries("base").contains(&base), "{}", base.display());

    call("image --prune 1").code(0).prints("freed 0 MB");
    call("image --prune 0").code(0).prints("freed ");
    for kind in ["base", "image", "snapshot"] {
        assert_eq!(cache.entries(kind), Vec::<std::path::PathBuf>::new());
    }
}

#[test]
fn a_run_is_not_gone_on_with_on_another_image() {
    let place = Place::with_guests();
    let cache = PrivateCache::copy(&place);
    let findings = place.call("doctor --host --json").json();
    let host = findings["host"].as_array().unwrap();
    let device = host.iter().find(|finding| finding["about"] == "agent and pid 1").unwrap();
    let other = place.folder("device");
    let programs = "headroom-agent headroom-init guard stationd txd station-monitor station-floor";
    for name in programs.split(' ') {
        fs::copy(format!("{}/{name}", device["what"].as_str().unwrap()), other.join(name)).unwrap();
    }
    // What is not loaded is not in the image; another program is.
    fs::copy(other.join("station-floor"), other.join("station-monitor")).unwrap();

    place.run_study(&Study::small().idle().repetitions(1)).run().code(0);
    let resume = place.resume().words("--quiet").env("HEADROOM_DEVICE", other);
    let ended = resume.env("HEADROOM_CACHE", cache.path()).run();
    ended.code(3).says("was begun with another image").says("start a new run").in_one_line();
    assert_eq!(place.left(), []);
}

/// The costs that `cargo xtask sensitivity` plants are in a build of its own; names and lines stay on the host.
#[test]
fn the_stationd_that_ships_is_one_small_file_and_has_nothing_planted() {
    let program = fs::read(stationd()).unwrap();
    let holds = |text: &[u8]| program.windows(text.len()).any(|here| here == text);
    assert!(holds(b"getStationStats"), "it holds the names of its methods");
    assert!(!holds(b"STATIOND_PLANT"), "it was built with the feature `planted`");
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*program).unwrap();
    let (parts, endian) = (file.elf_program_headers(), file.endian());
    assert!(parts.iter().all(|part| part.p_type.get(endian) != object::elf::PT_INTERP));
    // A device has what is loaded.
    let ends = parts.iter().map(|part| part.p_offset.get(endian) + part.p_filesz.get(endian));
    assert!(ends.max().unwrap() <= 2 << 20, "{} bytes", program.len());
}
