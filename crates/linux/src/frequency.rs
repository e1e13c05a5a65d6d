//! The frequency of CPUs: which governor chooses it, whether it may rise above the base, and how both are changed.
//!
//! Talks to `/sys/devices/system/cpu`. It remembers nothing: who changes a setting knows what it was.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

const CPUS: &str = "/sys/devices/system/cpu";

/// A setting of the kernel's: a word in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// What it is, as `the governor of policy0`.
    pub what: String,
    pub path: PathBuf,
}

impl Setting {
    pub fn value(&self) -> io::Result<String> {
        fs::read_to_string(&self.path).map(|text| text.trim().to_owned())
    }

    /// Sets it.
    /// Fails for a word that the kernel does not know.
    pub fn set(&self, value: &str) -> io::Result<()> {
        // Without O_CREAT and O_TRUNC, which mean nothing there.
        let mut file = fs::OpenOptions::new().write(true).open(&self.path)?;
        io::Write::write_all(&mut file, value.as_bytes())
    }
}

/// The governor of each group of CPUs that change their frequency together; none where the kernel changes none.
pub fn governors() -> Vec<Setting> {
    governors_below(Path::new(CPUS))
}

fn governors_below(cpus: &Path) -> Vec<Setting> {
    let all = |folder: PathBuf, prefix: &str, below: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let named = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let path = entry.path().join(below).join("scaling_governor");
            let is_one = name.strip_prefix(prefix)?.parse::<u32>().is_ok() && path.exists();
            is_one.then(|| Setting { what: format!("the governor of {name}"), path })
        });
        let mut all: Vec<Setting> = named.collect();
        all.sort_by(|one, other| one.path.cmp(&other.path));
        all
    };
    let policies = all(cpus.join("cpufreq"), "policy", "");
    // Linux before 4.3 has them at each CPU only.
    if policies.is_empty() { all(cpus.to_owned(), "cpu", "cpufreq") } else { policies }
}

/// Where it is said whether CPUs may clock above their base, and the words for yes and no.
pub fn turbo() -> Option<(Setting, [&'static str; 2])> {
    let known = [("intel_pstate/no_turbo", ["0", "1"]), ("cpufreq/boost", ["1", "0"])];
    known.into_iter().find_map(|(path, words)| {
        let path = Path::new(CPUS).join(path);
        path.exists().then(|| (Setting { what: "turbo".to_owned(), path }, words))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn governors_are_found_where_either_kernel_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "ondemand\n").unwrap();
        };
        assert_eq!(governors_below(folder.path()), []);
        put("cpu1/cpufreq/scaling_governor");
        put("cpu0/cpufreq/scaling_governor");
        let found: Vec<_> =
            governors_below(folder.path()).into_iter().map(|one| one.what).collect();
        assert_eq!(found, ["the governor of cpu0", "the governor of cpu1"]);
        put("cpufreq/policy0/scaling_governor");
        let found = governors_below(folder.path());
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].what.as_str(), found[0].value().unwrap()),
            ("the governor of policy0", "ondemand".to_owned())
        );
        found[0].set("performance").unwrap();
        assert!(found[0].value().unwrap().starts_with("performance"));
    }
}
