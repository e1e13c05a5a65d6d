//! A program as a device has it, without symbols and debug information; and what of these stays on the host to explain its
//! stacks.

use object::{
    build::elf::{Builder, Section, SectionData},
    elf,
};

/// Sections that explain stacks by themselves: what a program without `.eh_frame` is unwound by, and symbols that are packed.
const EXPLAINING: [&[u8]; 2] = [b".debug_frame", b".gnu_debugdata"];

#[derive(Clone, Debug)]
pub struct Stripped {
    /// What is loaded of it; all of it where it is no ELF file that can be written again.
    pub file: Vec<u8>,
    /// An ELF file with the symbols of its functions; `None` where it has none that `file` lacks.
    pub debug: Option<Vec<u8>>,
}

impl Stripped {
    pub fn of(program: Vec<u8>) -> Self {
        match without_symbols(&program) {
            Some(file) => Self { file, debug: debug_of(&program) },
            None => Self { file: program, debug: None },
        }
    }
}

/// The program without what is not loaded; unchanged where it is no ELF file that can be written again.
pub(crate) fn stripped(program: Vec<u8>) -> Vec<u8> {
    without_symbols(&program).unwrap_or(program)
}

fn without_symbols(program: &[u8]) -> Option<Vec<u8>> {
    let mut builder = Builder::read(program).ok()?;
    for section in &mut builder.sections {
        let names = matches!(section.data, SectionData::SectionString);
        section.delete = !section.is_alloc() && !names;
    }
    for symbol in &mut builder.symbols {
        symbol.delete = true;
    }
    written(builder)
}

/// What names its functions, with the sections that hold code, which have no content here.
fn debug_of(program: &[u8]) -> Option<Vec<u8>> {
    let mut builder = Builder::read(program).ok()?;
    let mut explains_something = false;
    let mut code = Vec::new();
    for section in &mut builder.sections {
        if is_code(section) {
            section.data = SectionData::UninitializedData(section.sh_size);
            section.sh_type = elf::SHT_NOBITS;
            code.push(section.id());
        }
        explains_something |= EXPLAINING.contains(&&*section.name);
        section.delete = !explains(section);
    }
    for segment in &mut builder.segments {
        segment.delete = true;
    }
    for symbol in &mut builder.dynamic_symbols {
        symbol.delete = true;
    }
    for symbol in &mut builder.symbols {
        let is_function = symbol.section.is_some_and(|section| code.contains(&section));
        symbol.delete = !is_function;
        explains_something |= is_function;
    }
    explains_something.then(|| written(builder)).flatten()
}

fn is_code(section: &Section<'_>) -> bool {
    section.is_alloc() && section.sh_flags.contains(elf::SHF_EXECINSTR)
}

fn explains(section: &Section<'_>) -> bool {
    let names = matches!(
        section.data,
        SectionData::SectionString
            | SectionData::Symbol
            | SectionData::SymbolSectionIndex
            | SectionData::String
    );
    let name = &*section.name;
    names || is_code(section) || name == b".note.gnu.build-id" || EXPLAINING.contains(&name)
}

fn written(mut builder: Builder<'_>) -> Option<Vec<u8>> {
    // A static program for arm64 has relocations that name the table of symbols and need none.
    let kept = builder.sections.iter().filter(|section| !section.delete);
    let kept: Vec<_> = kept.map(|section| section.id()).collect();
    for section in &mut builder.sections {
        section.sh_link_section = section.sh_link_section.filter(|link| kept.contains(link));
    }
    let mut file = Vec::new();
    builder.write(&mut file).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, process::Command};

    use object::{Object, ObjectSegment, ObjectSymbol};

    use super::*;

    #[test]
    fn a_stripped_program_runs_and_has_its_build_id_and_no_symbol() {
        let whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        let bytes = stripped(whole.clone());
        assert!(bytes.len() < whole.len() / 2, "{} of {}", bytes.len(), whole.len());
        let (before, after) =
            (object::File::parse(&*whole).unwrap(), object::File::parse(&*bytes).unwrap());
        assert_eq!(before.build_id().unwrap(), after.build_id().unwrap());
        assert!(before.symbols().any(|symbol| symbol.is_definition()));
        assert!(!after.symbols().any(|symbol| symbol.is_definition()));

        let segments = |file: &object::File<'_>| -> Vec<_> {
            file.segments().map(|one| (one.address(), one.file_range())).collect()
        };
        // A probe's place in the file is looked up in either.
        assert_eq!(segments(&before), segments(&after));

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stripped");
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let listed = Command::new(path).arg("--list").output().unwrap();
        assert!(listed.status.success());
        assert!(String::from_utf8_lossy(&listed.stdout).contains("a_stripped_program_runs"));
    }

    #[test]
    fn what_a_program_loses_names_its_functions_and_is_small() {
        let whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        let Stripped { file, debug } = Stripped::of(whole.clone());
        let debug = debug.unwrap();
        assert_eq!(file, stripped(whole.clone()));
        assert!(debug.len() < whole.len() / 2, "{} of {}", debug.len(), whole.len());
        let (before, kept) =
            (object::File::parse(&*whole).unwrap(), object::File::parse(&*debug).unwrap());
        assert_eq!(before.build_id().unwrap(), kept.build_id().unwrap());
        let functions = |file: &object::File<'_>| -> Vec<(u64, u64, String)> {
            let functions = file.symbols().filter(|one| one.kind() == object::SymbolKind::Text);
            let named = functions.filter(|one| one.is_definition());
            named.map(|one| (one.address(), one.size(), one.name().unwrap().to_owned())).collect()
        };
        let named = functions(&kept);
        assert_eq!(named, functions(&before));
        assert!(named.iter().any(|(_, _, name)| name.contains("names_its_functions")));
    }

    #[test]
    fn what_is_no_program_is_left_alone_and_loses_nothing() {
        let script = Stripped::of(b"#!/bin/sh\n".to_vec());
        assert_eq!((&*script.file, script.debug), (&b"#!/bin/sh\n"[..], None));
        let stripped = stripped(fs::read(std::env::current_exe().unwrap()).unwrap());
        assert_eq!(Stripped::of(stripped).debug, None);
    }
}
