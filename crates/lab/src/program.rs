//! Our programs for an access point, as the build left them: found by name, and known by what they run on.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use model::architecture::Processor;
use object::elf;

use crate::Error;

/// The first file of a name in these folders that a processor can run.
pub(crate) fn find(
    name: &str,
    processor: Processor,
    folders: &[PathBuf],
) -> Result<PathBuf, Error> {
    let mut other = None;
    for path in folders.iter().map(|folder| folder.join(name)).filter(|path| path.is_file()) {
        if may_run_on(processor, &path).map_err(Error::file("read", &path))? {
            return Ok(path);
        }
        other.get_or_insert(path);
    }
    Err(match other {
        Some(path) => of_other_processor(&path, processor),
        None => {
            let of = if processor.is_own() { String::new() } else { format!(" for {processor}") };
            Error::Environment(format!(
                "the device program `{name}`{of} was not found next to headroom; run `make {}`, or name its folder in \
                 HEADROOM_DEVICE",
                made_by(processor)
            ))
        }
    })
}

pub(crate) fn of_other_processor(path: &Path, processor: Processor) -> Error {
    Error::Environment(format!(
        "{} is a program for another processor than {processor}; run `make {}`, or name a folder of others in \
         HEADROOM_DEVICE",
        path.display(),
        made_by(processor)
    ))
}

fn made_by(processor: Processor) -> &'static str {
    match processor {
        Processor::X86_64 => "build",
        Processor::Arm64 => "arm64",
        Processor::Armv7 => "armv7",
    }
}

/// Whether a file is no program of another processor, by its ELF header; what is none may be a script.
pub(crate) fn may_run_on(processor: Processor, path: &Path) -> io::Result<bool> {
    let wanted = match processor {
        Processor::X86_64 => elf::EM_X86_64.0,
        Processor::Arm64 => elf::EM_AARCH64.0,
        Processor::Armv7 => elf::EM_ARM.0,
    };
    let mut head = Vec::new();
    File::open(path)?.take(20).read_to_end(&mut head)?;
    let machine = head.strip_prefix(&elf::ELFMAG).and_then(|rest| rest.get(14..16));
    Ok(machine.is_none_or(|bytes| bytes == wanted.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_what_runs_it() {
        let folder = tempfile::tempdir().unwrap();
        let folders = ["x", "arm"].map(|name| folder.path().join(name));
        let program = [&elf::ELFMAG[..], &[0; 14], &elf::EM_ARM.0.to_le_bytes()].concat();
        std::fs::create_dir(&folders[1]).unwrap();
        std::fs::write(folders[1].join("agent"), program).unwrap();
        assert_eq!(find("agent", Processor::Armv7, &folders).unwrap(), folders[1].join("agent"));
        let refused = |processor| find("agent", processor, &folders).unwrap_err().to_string();
        assert!(refused(Processor::Arm64).contains("a program for another processor than arm64"));
        let missing = find("guard", Processor::Arm64, &folders).unwrap_err().to_string();
        assert!(missing.contains("`guard` for arm64 was not found"), "{missing}");
    }
}
