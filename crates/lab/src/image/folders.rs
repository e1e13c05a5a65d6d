//! The folders that packages ask for below `/run`, `/var` and `/etc`: lines that pid 1 of the guest works off.
//!
//! They are asked for with `mkdir`, `install -d`, `chown` and `chmod` in an install script ([`super::setup`] reads
//! it), with a line of tmpfiles.d, or with `RuntimeDirectory=` and the like in a unit. What is below a folder gets no
//! other owner, and no file is made. Pure.

use std::collections::BTreeMap;

use super::accounts::Accounts;

/// Folders by their paths: a folder comes before what is in it.
#[derive(Debug, Default)]
pub(super) struct Folders(BTreeMap<String, Folder>);

/// What a folder is to have; what is `None` stays as it is.
#[derive(Debug, Default)]
struct Folder {
    /// Whether it is made where it is missing; else what is there, a file too, is given what stands here.
    made: bool,
    mode: Option<u32>,
    user: Option<String>,
    group: Option<String>,
}

/// Keys of a unit, and where their folders are.
const OF_UNITS: [(&str, &str); 5] = [
    ("RuntimeDirectory", "/run"),
    ("StateDirectory", "/var/lib"),
    ("CacheDirectory", "/var/cache"),
    ("LogsDirectory", "/var/log"),
    ("ConfigurationDirectory", "/etc"),
];

impl Folders {
    /// Adds what a command of a script asks for; `false` where it says no plain path of ours, or asks for a file.
    pub(super) fn ask(&mut self, program: &str, words: &[String]) -> bool {
        let (is_folder, asked, plain) = parts(words);
        let (asked, paths) = match (program, plain.as_slice()) {
            ("mkdir", paths) => (asked, paths),
            ("install", paths) if is_folder => (asked, paths),
            ("chown", [owner, paths @ ..]) => (Folder::of_owner(owner), paths),
            ("chmod", [mode, paths @ ..]) => (Folder::of_mode(mode), paths),
            _ => return false,
        };
        let known =
            asked.made || asked.mode.is_some() || asked.user.is_some() || asked.group.is_some();
        known && !paths.is_empty() && paths.iter().all(|path| self.add(path, &asked))
    }

    /// Adds what a line of tmpfiles.d asks for; `false` where it asks for anything but a folder of ours.
    pub(super) fn tmpfiles(&mut self, words: &[String]) -> bool {
        let [kind, path, rest @ ..] = words else { return false };
        let given = |at: usize| rest.get(at).filter(|word| *word != "-").cloned();
        let mode = given(0).and_then(|mode| octal(mode.trim_start_matches(['~', ':'])));
        let asked = Folder { made: true, mode, user: given(1), group: given(2) };
        kind.starts_with(['d', 'D', 'v', 'q', 'Q']) && self.add(path, &asked)
    }

    /// Adds what a unit asks for, and gives it back as the unit says it.
    pub(super) fn unit(&mut self, text: &str) -> Vec<String> {
        let mut made = Vec::new();
        let values = |wanted: &str| {
            let pairs = text.lines().filter_map(|line| line.trim().split_once('='));
            let values = pairs.filter(|(key, _)| key.trim_end() == wanted);
            values.map(|(_, value)| value.trim().to_owned()).collect::<Vec<_>>()
        };
        let user = values("User").pop();
        let group = values("Group").pop().or_else(|| user.clone());
        for (key, root) in OF_UNITS {
            // systemd leaves its folders of configuration to root.
            let owned = |name: &Option<String>| name.clone().filter(|_| root != "/etc");
            let mode = values(&format!("{key}Mode")).pop().and_then(|mode| octal(&mode));
            let asked = Folder { made: true, mode, user: owned(&user), group: owned(&group) };
            for name in values(key).iter().flat_map(|names| names.split_whitespace()) {
                let name = name.split(':').next().unwrap_or(name);
                if self.add(&format!("{root}/{name}"), &asked) {
                    made.push(format!("{key}={name}"));
                }
            }
        }
        made
    }

    fn add(&mut self, path: &str, asked: &Folder) -> bool {
        let path = path.trim_end_matches('/');
        let path =
            path.strip_prefix("/var/run/").map_or(path.to_owned(), |rest| format!("/run/{rest}"));
        if !is_ours(&path) {
            return false;
        }
        let folder = self.0.entry(path).or_default();
        folder.made |= asked.made;
        folder.mode = asked.mode.or(folder.mode);
        folder.user = asked.user.clone().or(folder.user.take());
        folder.group = asked.group.clone().or(folder.group.take());
        true
    }

    /// A line each for pid 1: `make` or, where what is missing stays so, `keep`; mode in octal, numbers of user and
    /// group, path; `-` for what stays as it is. An account that no one asked for is root.
    pub(super) fn lines(&self, accounts: &Accounts) -> String {
        let id = |name: &Option<String>| match name {
            Some(name) => {
                name.parse().ok().or_else(|| accounts.id(name)).unwrap_or_default().to_string()
            }
            None => "-".to_owned(),
        };
        let mode = |mode: Option<u32>| mode.map_or("-".to_owned(), |mode| format!("{mode:o}"));
        let line = |(path, one): (&String, &Folder)| {
            let verb = if one.made { "make" } else { "keep" };
            format!("{verb} {} {} {} {path}\n", mode(one.mode), id(&one.user), id(&one.group))
        };
        self.0.iter().map(line).collect()
    }
}

impl Folder {
    fn of_mode(mode: &str) -> Self {
        Self { mode: octal(mode), ..Self::default() }
    }

    /// `USER`, `USER:GROUP`, `USER:` or `:GROUP`.
    fn of_owner(owner: &str) -> Self {
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let (user, group) = owner.split_once([':', '.']).unwrap_or((owner, ""));
        let group = if owner.ends_with(':') { named(user) } else { named(group) };
        Self { user: named(user), group, ..Self::default() }
    }
}

/// The words of `mkdir` or `install`: whether `-d` is among them, what the folders are to have, and the plain words.
fn parts(words: &[String]) -> (bool, Folder, Vec<String>) {
    let (mut asked, mut plain) = (Folder { made: true, ..Folder::default() }, Vec::new());
    let mut is_folder = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-d" | "--directory" => is_folder = true,
            "-m" | "--mode" => asked.mode = words.next().and_then(|mode| octal(mode)),
            "-o" | "--owner" => asked.user = words.next().cloned(),
            "-g" | "--group" => asked.group = words.next().cloned(),
            option if option.starts_with("--mode=") => asked.mode = octal(&option[7..]),
            option if option.starts_with("-m") => asked.mode = octal(&option[2..]),
            // What is behind an arrow is no folder.
            "2>" | ">" | ">>" => drop(words.next()),
            option if option.starts_with(['-', '>', '<']) || option.starts_with("2>") => {}
            _ => plain.push(word.clone()),
        }
    }
    (is_folder, asked, plain)
}

/// A mode in digits; `g+w` depends on what was there.
fn octal(mode: &str) -> Option<u32> {
    u32::from_str_radix(mode, 8).ok().filter(|mode| *mode <= 0o7777)
}

/// Whether a path is one that pid 1 makes: plain, and where packages keep what changes.
fn is_ours(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.+@".contains(&byte);
    let below = ["/run/", "/var/", "/etc/"].iter().any(|root| path.starts_with(root));
    let steps = path[1.min(path.len())..].split('/');
    below
        && path.len() <= 200
        && path.bytes().all(plain)
        && steps.clone().all(|step| !matches!(step, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> Accounts {
        let mut accounts = Accounts::default();
        assert!(accounts.ask("adduser", &["--system".into(), "snmp".into()]));
        accounts
    }

    fn asked(commands: &[(&str, bool)]) -> String {
        let mut folders = Folders::default();
        for (command, made) in commands {
            let words = shlex::split(command).unwrap();
            assert_eq!(folders.ask(&words[0], &words[1..]), *made, "{command}");
        }
        folders.lines(&accounts())
    }

    #[test]
    fn what_scripts_make_is_made_with_mode_and_owner() {
        let made = asked(&[
            ("mkdir -p /var/lib/snmp/mib_indexes /run/snmp/", true),
            ("chown -R snmp:snmp /var/lib/snmp/mib_indexes", true),
            ("install -d -m 0750 -o root -g adm /var/log/some", true),
            ("mkdir -m700 /etc/some", true),
            ("chmod 2755 /var/log/some", true),
            ("mkdir --mode=1777 /var/run/some", true),
            ("chown snmp /var/lib/known 2> /dev/null", true),
        ]);
        let lines = [
            "make 700 - - /etc/some",
            "make - - - /run/snmp",
            "make 1777 - - /run/some",
            "keep - 110 - /var/lib/known",
            "make - 110 110 /var/lib/snmp/mib_indexes",
            "make 2755 0 4 /var/log/some",
        ];
        assert_eq!(made.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn what_is_no_plain_folder_of_ours_is_not_made() {
        let refused = [
            "mkdir -p \"$DIR\"",
            "mkdir /usr/local/lib/some",
            "mkdir /var/../etc",
            "mkdir",
            "install -m 644 a /etc/some",
            "chmod g+w /var/mail",
            "chown",
            "chown root",
        ];
        assert_eq!(asked(&refused.map(|command| (command, false))), "");
    }

    #[test]
    fn tmpfiles_and_units_ask_for_folders() {
        let mut folders = Folders::default();
        let lines = [
            ("d /run/sshd 0755 root root -", true),
            ("D! /run/some - snmp -", true),
            ("L /etc/some - - - - target", false),
            ("d %t/some", false),
            ("d", false),
        ];
        for (line, made) in lines {
            assert_eq!(folders.tmpfiles(&shlex::split(line).unwrap()), made, "{line}");
        }
        folders.unit(
            "[Service]\nUser=snmp\nRuntimeDirectory=one two/three\nRuntimeDirectoryMode=0750\nStateDirectory=one:other\nConfigurationDirectory=one\n",
        );
        let lines = [
            "make - - - /etc/one",
            "make 750 110 110 /run/one",
            "make - 110 - /run/some",
            "make 755 0 0 /run/sshd",
            "make 750 110 110 /run/two/three",
            "make - 110 110 /var/lib/one",
        ];
        assert_eq!(folders.lines(&accounts()).lines().collect::<Vec<_>>(), lines);
    }
}
