//! The kernel's symbols, as `/proc/kallsyms` tells them.
//!
//! Text only. Where root may not see them, every address is 0: they are hidden, which is not a kernel without
//! functions.

/// Why the kernel's symbols are of no use.
const HIDDEN: &str = "the kernel hides its symbols (all are at 0): sysctl kernel.kptr_restrict=0";
const EMPTY: &str = "/proc/kallsyms names no function";

/// Code behind the last symbol is not that symbol's: modules and the image end somewhere.
const FURTHEST: u64 = 1 << 20;

/// A distribution's kernel with all of its modules has 200,000.
const MOST_FUNCTIONS: usize = 1 << 20;

/// A module's name has at most 55 letters, and a kernel some hundreds of modules.
const MOST_MODULES: usize = 4096;

/// Functions of the kernel, by address.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    functions: Vec<Function>,
    modules: Vec<String>,
}

#[derive(Clone, Debug)]
struct Function {
    address: u64,
    module: u32,
    name: Box<str>,
}

impl Kernel {
    /// Reads `/proc/kallsyms`: `ADDRESS TYPE NAME`, and for a module's `\t[MODULE]`.
    /// Fails where addresses are hidden, or there is no function.
    pub fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let mut kernel = Kernel { modules: vec!["[kernel]".to_owned()], functions: Vec::new() };
        let mut hidden = false;
        for line in text.split(|byte| *byte == b'\n') {
            let Some((address, name, module)) = std::str::from_utf8(line).ok().and_then(function)
            else {
                continue;
            };
            if address == 0 {
                hidden = true;
                continue;
            }
            if kernel.functions.len() == MOST_FUNCTIONS {
                break;
            }
            let module = kernel.module_of(module);
            kernel.functions.push(Function { address, module, name: name.into() });
        }
        if kernel.functions.is_empty() {
            return Err(if hidden { HIDDEN } else { EMPTY });
        }
        // Of several names at one address the first by alphabet: any, but the same every time; those with
        // fewer underscores first, because they are what people write.
        kernel.functions.sort_by(|one, other| {
            let key = |function: &Function| {
                let plain = function.name.trim_start_matches('_');
                (function.address, function.name.len() - plain.len())
            };
            key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
        });
        kernel.functions.dedup_by_key(|function| function.address);
        Ok(kernel)
    }

    /// The function at an address: its name and its module's (`[kernel]`, `[mac80211]`).
    pub fn function(&self, address: u64) -> Option<(&str, &str)> {
        let behind = self.functions.partition_point(|function| function.address <= address);
        let found = self.functions.get(behind.checked_sub(1)?)?;
        // Before the next function anything is this one's, but gaps between image and modules are not.
        if address - found.address >= FURTHEST {
            return None;
        }
        Some((&found.name, self.modules.get(found.module as usize)?))
    }

    fn module_of(&mut self, name: Option<&str>) -> u32 {
        let Some(name) = name else { return 0 };
        // Lines of one module stand together, so the last one is nearly always right.
        let known = self.modules.iter().rposition(|module| module == name);
        let place = known.unwrap_or_else(|| {
            if self.modules.len() == MOST_MODULES {
                return 0;
            }
            self.modules.push(name.to_owned());
            self.modules.len() - 1
        });
        u32::try_from(place).unwrap_or(0)
    }
}

/// A line that is a function: address, name, module.
fn function(line: &str) -> Option<(u64, &str, Option<&str>)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = words.next()?;
    let name = words.next()?;
    matches!(kind, "t" | "T" | "w" | "W").then(|| (address, name, words.next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"ffffffff81000000 T _text\nffffffff81000000 T _stext\n\
        ffffffff81000100 t do_one\nffffffff81000180 D some_data\nffffffff81000200 W weak_one\n\
        ffffffffc0100000 t ieee80211_rx\t[mac80211]\nffffffffc0200000 t __hwsim_tx\t[mac80211_hwsim]\n\
        ffffffffc0200000 t hwsim_tx\t[mac80211_hwsim]\nnonsense\n";

    #[test]
    fn functions_are_found_with_their_module() {
        let kernel = Kernel::parse(TEXT).expect("symbols");
        assert_eq!(kernel.function(0xffff_ffff_8100_0150), Some(("do_one", "[kernel]")));
        assert_eq!(kernel.function(0xffff_ffff_8100_01ff), Some(("do_one", "[kernel]")));
        assert_eq!(kernel.function(0xffff_ffff_c010_0010), Some(("ieee80211_rx", "[mac80211]")));
        assert_eq!(kernel.function(0xffff_ffff_c020_0000), Some(("hwsim_tx", "[mac80211_hwsim]")));
        assert_eq!(kernel.function(0xffff_ffff_8100_0000), Some(("_stext", "[kernel]")));
        assert_eq!(kernel.function(0x1000), None);
        assert_eq!(kernel.function(0xffff_ffff_ffff_0000), None);
    }

    #[test]
    fn zeros_are_hidden_and_nothing_is_nothing() {
        let hidden = b"0000000000000000 T _text\n0000000000000000 t do_one\n";
        assert_eq!(Kernel::parse(hidden).map(|_| ()), Err(HIDDEN));
        assert_eq!(Kernel::parse(b"").map(|_| ()), Err(EMPTY));
    }
}
