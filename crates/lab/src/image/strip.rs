//! A program as a device has it: without symbols and debug information, which stay on the host.
//!
//! Anyone who explains stacks finds them again by the build's id, which is kept.

use object::build::elf::{Builder, SectionData};

/// The program without what is not loaded; unchanged where it is no ELF file that can be written again.
pub(super) fn stripped(program: Vec<u8>) -> Vec<u8> {
    without_symbols(&program).unwrap_or(program)
}

fn without_symbols(program: &[u8]) -> Option<Vec<u8>> {
    let mut builder = Builder::read(program).ok()?;
    for section in &mut builder.sections {
        let names = matches!(section.data, SectionData::SectionString);
        section.delete = !section.is_alloc() && !names;
    }
    // A static program for arm64 has relocations that name the table of symbols and need none.
    let kept: Vec<_> = builder.sections.iter().map(|section| section.id()).collect();
    for section in &mut builder.sections {
        section.sh_link_section = section.sh_link_section.filter(|link| kept.contains(link));
    }
    for symbol in &mut builder.symbols {
        symbol.delete = true;
    }
    let mut stripped = Vec::new();
    builder.write(&mut stripped).ok()?;
    Some(stripped)
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
    fn what_is_no_program_is_left_alone() {
        assert_eq!(stripped(b"#!/bin/sh\n".to_vec()), b"#!/bin/sh\n");
    }
}
