//! What an edit changes in a program: functions with other instructions, and none that were only moved.

use std::sync::Arc;

use analysis::stacks::{
    changed::{functions, pages},
    object::Elf,
    symbols::Symbols,
};

use super::program::build_of;

fn program(name: &str, flags: &[&str]) -> Option<Elf> {
    let flags = [&["-O1"], flags].concat();
    let program = build_of("edited.c", &format!("edited-{name}"), "gcc", &flags)?;
    let bytes = Arc::from(std::fs::read(program).expect("it is there"));
    Some(Elf::parse(bytes).expect("an ELF file"))
}

#[test]
fn what_an_edit_changes_is_changed_and_not_what_it_moves() {
    let edits: [(&str, &[&str], &[&str]); 5] = [
        ("none", &["-DEDIT="], &[]),
        ("edit", &["-DEDIT=state += 1"], &["seldom"]),
        ("call", &["-DEDIT=a = twice(a)"], &["seldom"]),
        ("more", &["-DEDIT=", "-DMORE"], &["more"]),
        ("both", &["-DEDIT=a = -a", "-DMORE"], &["more", "seldom"]),
    ];
    let Some(base) = program("base", &["-DEDIT="]) else { return };
    for (name, flags, expected) in edits {
        let edited = program(name, flags).unwrap();
        let found = functions(&base, &edited).unwrap();
        let mut names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{name}");
    }
}

#[test]
fn a_function_lies_on_the_pages_of_its_code() {
    const PAGE: u64 = 4096;
    let Some(elf) = program("pages", &["-DEDIT=", "-static"]) else { return };
    let (address, end) = Symbols::of(&elf, None).named("seldom").unwrap();
    let parts = pages(&elf, &(address..end));
    assert_eq!(parts.len() as u64, 1 + (end - 1) / PAGE - address / PAGE);
    let one = &parts[0];
    assert_eq!(u64::from(one.code.start), address % PAGE);
    let within = usize::from(one.code.start - one.from)..usize::from(one.code.end - one.from);
    assert_eq!(one.content[within.clone()], elf.at(address)[..within.len()]);
    // A function that lies on two is two parts, and none goes further than the code.
    let next = (address / PAGE + 1) * PAGE;
    let two = pages(&elf, &(address..next + 8));
    let ends: Vec<u16> = two.iter().map(|part| part.code.end).collect();
    assert_eq!(ends, [4096, 8]);
    let all = pages(&elf, &(address..u64::MAX));
    assert!(all.iter().all(|part| usize::from(part.code.end - part.from) <= part.content.len()));
}

#[test]
fn without_symbols_nothing_is_known() {
    let Some(elf) = program("stripped", &["-DEDIT=", "-s", "-static"]) else { return };
    assert_eq!(functions(&elf, &elf), None);
}
