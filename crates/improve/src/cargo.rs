//! What a build with cargo sees of the person's toolchains: rustup's, and crates that were fetched; read-only.
//!
//! The rest of cargo's folder stays outside: credentials, other programs, and a configuration that may name tokens. Of that a
//! build gets where crates come from, since the crates' own folders are called after it.

use std::{
    env,
    path::{Path, PathBuf},
};

use linux::file;
use toml::{Table, Value};

use crate::task::Tool;

const LONGEST: u64 = 1 << 20;

/// What rustup puts beside cargo, each of them itself by another name.
const PROGRAMS: [&str; 4] = ["bin/cargo", "bin/rustc", "bin/rustdoc", "bin/rustup"];

pub(crate) struct Cargo {
    cargo: PathBuf,
    rustup: PathBuf,
}

impl Cargo {
    /// Those of the person, where a task asks for them.
    pub(crate) fn of(tools: &[Tool]) -> Option<Self> {
        let [cargo, rustup] = [folder("CARGO_HOME", ".cargo"), folder("RUSTUP_HOME", ".rustup")];
        tools.contains(&Tool::Cargo).then_some(Self { cargo, rustup })
    }

    pub(crate) fn folders(&self) -> [&Path; 2] {
        [&self.cargo, &self.rustup]
    }

    pub(crate) fn programs(&self) -> String {
        of(&self.cargo, "bin")
    }

    /// Bubblewrap's words. `found` leads to what it can read of one of [`Cargo::folders`]; `config` is a descriptor with
    /// [`Cargo::config`].
    pub(crate) fn arguments(
        &self,
        found: &dyn Fn(usize, &Path) -> PathBuf,
        config: &str,
    ) -> Vec<String> {
        let [cargo, rustup] = [&self.cargo, &self.rustup].map(|path| path.display().to_string());
        // Cargo wants to lock what it reads.
        let mut words = ["--size", "16777216", "--tmpfs", &cargo].map(str::to_owned).to_vec();
        let crates =
            PROGRAMS.into_iter().chain(["registry", "git"]).map(|part| (0, &self.cargo, part));
        let toolchains = ["settings.toml", "toolchains"].map(|part| (1, &self.rustup, part));
        for (number, folder, part) in crates.chain(toolchains) {
            let from = of(&found(number, folder), part);
            words.extend(["--ro-bind-try".to_owned(), from, of(folder, part)]);
        }
        let config =
            ["--ro-bind-data".to_owned(), config.to_owned(), of(&self.cargo, "config.toml")];
        words.extend(config);
        let set = [
            ["CARGO_HOME", &cargo],
            ["RUSTUP_HOME", &rustup],
            ["CARGO_TARGET_DIR", "/out/target"],
            ["CARGO_NET_OFFLINE", "true"],
            ["RUSTUP_AUTO_INSTALL", "0"],
        ];
        let set = set.into_iter().flat_map(|[name, value]| ["--setenv", name, value]);
        words.extend(set.map(str::to_owned));
        words
    }

    /// Where crates come from, of the person's configuration.
    pub(crate) fn config(&self) -> String {
        let read = |name| file::text(of(&self.cargo, name).as_ref(), LONGEST).ok();
        let text = read("config.toml").or_else(|| read("config")).unwrap_or_default();
        sources(&text)
    }
}

/// What a configuration says of sources and registries, without what may be a secret.
fn sources(config: &str) -> String {
    const HARMLESS: [&str; 8] =
        ["replace-with", "registry", "local-registry", "directory", "git", "branch", "tag", "rev"];
    let config: Table = config.parse().unwrap_or_default();
    let of_all = |name: &str, keys: &[&str]| {
        let all = config.get(name).and_then(Value::as_table).cloned().unwrap_or_default();
        let kept = |entry: Value| {
            let entry = entry.as_table().cloned().unwrap_or_default().into_iter();
            // An address may have a password in it.
            let is_kept = |(key, value): &(String, Value)| {
                keys.contains(&key.as_str())
                    && value.as_str().is_some_and(|text| !text.contains('@'))
            };
            Value::Table(entry.filter(is_kept).collect())
        };
        Value::Table(all.into_iter().map(|(name, entry)| (name, kept(entry))).collect())
    };
    let kept =
        [("source", of_all("source", &HARMLESS)), ("registries", of_all("registries", &["index"]))];
    Table::from_iter(kept.map(|(name, value)| (name.to_owned(), value))).to_string()
}

fn of(folder: &Path, part: &'static str) -> String {
    let path: PathBuf = [folder, Path::new(part)].into_iter().collect();
    path.display().to_string()
}

/// A folder that an environment variable names, else one in the person's home.
fn folder(variable: &str, usual: &'static str) -> PathBuf {
    let home = || PathBuf::from(of(Path::new(&env::var_os("HOME").unwrap_or_default()), usual));
    env::var_os(variable).map_or_else(home, PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_crates_come_from_is_kept_and_no_token() {
        let config = "[registry]\ntoken = \"t0ken\"\n[registries.mine]\nindex = \"sparse+https://mine/\"\ntoken = \"t0ken\"\n\
                      [source.crates-io]\nreplace-with = \"mirror\"\n[source.mirror]\nregistry = \"https://u:t0ken@m/\"\n\
                      [net]\ngit-fetch-with-cli = true\n[env]\nSECRET = \"t0ken\"\n";
        let kept = sources(config);
        assert!(
            kept.contains("replace-with = \"mirror\"") && kept.contains("sparse+https://mine/"),
            "{kept}"
        );
        assert!(!kept.contains("t0ken") && !kept.contains("[net]"), "{kept}");
        assert!(sources("no toml [").parse::<Table>().is_ok());
    }
}
