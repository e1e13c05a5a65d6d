//! Says whether the kernel's symbols can be fetched, and names them.
//!
//! Addresses are the same wherever the same build of the kernel lies at the same place with the same modules at theirs.
//! The boot's id would not do: a kernel in a restored snapshot draws another one each time.

use std::{
    fs::{self, File},
    io::{self, Read},
};

use model::{instrument::KernelSymbols, name::BootId};

use crate::programs::digest_of;

/// The first symbols are enough to see whether addresses are shown, bytes.
const BEGINNING: usize = 4096;

pub(crate) fn symbols() -> KernelSymbols {
    let mut beginning = Vec::with_capacity(BEGINNING);
    let read = File::open("/proc/kallsyms")
        .and_then(|file| file.take(BEGINNING as u64).read_to_end(&mut beginning));
    match read {
        Err(error) => KernelSymbols::Hidden(format!("/proc/kallsyms: {error}")),
        Ok(_) if !shows_addresses(&beginning) => KernelSymbols::Hidden(hidden()),
        Ok(_) => match boot(&beginning) {
            Ok(boot) => KernelSymbols::Boot(boot),
            Err(error) => KernelSymbols::Hidden(error.to_string()),
        },
    }
}

/// Addresses that may not be seen are printed as zeros.
fn shows_addresses(kallsyms: &[u8]) -> bool {
    kallsyms
        .split(|&byte| byte == b'\n')
        .filter_map(|line| line.split(|&byte| byte == b' ').next())
        .any(|address| address.iter().any(|digit| !matches!(digit, b'0')))
}

fn hidden() -> String {
    let restricted = fs::read_to_string("/proc/sys/kernel/kptr_restrict").unwrap_or_default();
    format!(
        "addresses in /proc/kallsyms are zeros (kernel.kptr_restrict is {}); run the agent as root with \
         `sysctl kernel.kptr_restrict=1` or 0",
        restricted.trim()
    )
}

/// The kernel, where it lies, and its modules, hexadecimal.
fn boot(first_symbols: &[u8]) -> io::Result<BootId> {
    let version = fs::read_to_string("/proc/version").unwrap_or_default();
    let modules = fs::read_to_string("/proc/modules").unwrap_or_default();
    let text = format!("{version}{}", placed(&modules));
    digest_of([first_symbols, text.as_bytes()].concat().as_slice()).map(BootId::from)
}

/// Names, sizes and addresses of modules: the number of their users is another all the time.
fn placed(modules: &str) -> String {
    let mut lines: Vec<String> = modules
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            [0, 1, 5].map(|place| fields.get(place).copied().unwrap_or_default()).join(" ")
        })
        .collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_no_addresses() {
        assert!(!shows_addresses(b"0000000000000000 T _text\n0000000000000000 T _stext\n"));
        assert!(shows_addresses(b"0000000000000000 A fixed\nffffffff81000000 T _text\n"));
        assert!(!shows_addresses(b""));
    }

    #[test]
    fn the_users_of_a_module_do_not_change_its_name() {
        let one =
            "mac80211 1 2 hwsim, Live 0xffffffffc0\ncfg80211 3 1 mac80211, Live 0xffffffffd0\n";
        let two = "cfg80211 3 9 mac80211, Live 0xffffffffd0\nmac80211 1 0 - Live 0xffffffffc0\n";
        assert_eq!(placed(one), placed(two));
        assert_ne!(placed(one), placed(&two.replace("c0", "c1")));
    }
}
