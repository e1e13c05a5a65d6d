//! The users and groups that packages' install scripts would have made.
//!
//! Nothing of a package is executed when the image is made, so its `postinst` is read in place of run: what it asks
//! of `adduser`, `addgroup`, `useradd` and `groupadd` in plain words, with variables that it sets itself, becomes a
//! line of `/etc/passwd` and `/etc/group`. Everything else that a script does is left undone. Pure.

use std::collections::BTreeMap;

/// The first number of those accounts; what the image has of its own is below.
const FIRST: u32 = 110;

/// No script is longer that is read, bytes.
pub(super) const LONGEST_SCRIPT: u64 = 256 << 10;

/// So many letters of what was asked for are shown,
const LONGEST_SHOWN: usize = 80;

/// and so many of them.
const MOST_SHOWN: usize = 8;

/// Options of the four programs that are followed by a value.
const VALUED: [&str; 14] = [
    "--home",
    "--shell",
    "--gecos",
    "--uid",
    "--gid",
    "--ingroup",
    "--comment",
    "-d",
    "-s",
    "-c",
    "-u",
    "-g",
    "-G",
    "--home-dir",
];

/// Users and groups, in the order in which scripts ask for them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Accounts {
    users: Vec<User>,
    groups: Vec<String>,
    /// What was asked for and is not known without running the script.
    unmade: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct User {
    name: String,
    home: String,
}

impl Accounts {
    /// Adds what a script asks for.
    pub(super) fn read(&mut self, script: &str) {
        let mut variables = BTreeMap::new();
        for line in script.replace("\\\n", " ").lines() {
            // A line that is no plain words, as one with a quote that ends elsewhere, asks for no account in plain words.
            let Some(words) = shlex::split(line.trim()) else { continue };
            let words =
                words.iter().map(|word| expanded(word, &variables)).flat_map(with_end_apart);
            let words: Vec<String> = words.collect();
            if let [word] = words.as_slice()
                && let Some((name, value)) = word.split_once('=')
            {
                variables.insert(name.to_owned(), value.to_owned());
                continue;
            }
            let asks = |word: &String| {
                ["adduser", "useradd", "addgroup", "groupadd"].contains(&program(word))
            };
            if let Some(at) = words.iter().position(asks) {
                self.take(program(&words[at]), &words[at + 1..]);
            }
        }
    }

    fn take(&mut self, program: &str, words: &[String]) {
        let (mut names, mut home) = (Vec::new(), "/nonexistent".to_owned());
        let words_of: Vec<String> =
            words.iter().take_while(|word| !ends_command(word)).cloned().collect();
        let mut words = words_of.iter();
        while let Some(word) = words.next() {
            let (option, joined) = word
                .split_once('=')
                .map_or((&**word, None), |(option, value)| (option, Some(value.to_owned())));
            let value = if VALUED.contains(&option) {
                joined.or_else(|| words.next().cloned())
            } else {
                None
            };
            match option {
                "--home" | "-d" | "--home-dir" => home = value.unwrap_or(home),
                option if option.starts_with(['-', '>', '<', '2']) => {}
                name if is_name(name) => names.push(name.to_owned()),
                _ => {}
            }
        }
        match (program, names.as_slice()) {
            ("adduser" | "useradd", [name]) => self.user(name, home),
            ("addgroup" | "groupadd", [name]) => self.group(name),
            // `adduser USER GROUP` makes a member, and a name that is made up at run time is not known here.
            _ => {
                let asked = words_of.join(" ").chars().take(LONGEST_SHOWN).collect::<String>();
                self.unmade.push(format!("{program} {asked}"));
            }
        }
    }

    fn user(&mut self, name: &str, home: String) {
        // The home is a field of a line, and no other line.
        let home = if home.contains([':', '\n']) { "/nonexistent".to_owned() } else { home };
        if !self.users.iter().any(|user| user.name == name) {
            self.users.push(User { name: name.to_owned(), home });
        }
        self.group(name);
    }

    fn group(&mut self, name: &str) {
        if !self.groups.iter().any(|group| group == name) {
            self.groups.push(name.to_owned());
        }
    }

    /// What was made and what was not, in one line; `None` where no script asked for anything.
    pub(super) fn summary(&self) -> Option<String> {
        let made = (!self.groups.is_empty()).then(|| format!("made {}", self.groups.join(", ")));
        let shown = self.unmade.iter().take(MOST_SHOWN).map(|asked| format!("`{asked}`"));
        let shown: Vec<String> = shown.collect();
        let rest = self.unmade.len().saturating_sub(MOST_SHOWN);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let unmade = (!shown.is_empty()).then(|| format!("not made: {}{more}", shown.join(", ")));
        let parts: Vec<String> = made.into_iter().chain(unmade).collect();
        (!parts.is_empty()).then(|| format!("accounts of packages: {}", parts.join("; ")))
    }

    /// Lines of `/etc/passwd`, behind those of the image's own.
    pub(super) fn passwd(&self) -> String {
        let line = |user: &User| {
            let number = self.number(&user.name);
            format!("{}:x:{number}:{number}::{}:/bin/false\n", user.name, user.home)
        };
        self.users.iter().map(line).collect()
    }

    /// Lines of `/etc/group`.
    pub(super) fn group_lines(&self) -> String {
        self.groups.iter().map(|name| format!("{name}:x:{}:\n", self.number(name))).collect()
    }

    /// A group's number, and that of the user of its name.
    fn number(&self, name: &str) -> u32 {
        (FIRST..)
            .zip(&self.groups)
            .find(|(_, group)| *group == name)
            .map_or(0, |(number, _)| number)
    }
}

/// A program's name without its folder.
fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// A word, and the end of the command apart where it clings to it.
fn with_end_apart(word: String) -> Vec<String> {
    match word.strip_suffix(';') {
        Some(word) => vec![word.to_owned(), ";".to_owned()],
        None => vec![word],
    }
}

fn ends_command(word: &str) -> bool {
    matches!(word, "||" | "&&" | "|" | ";" | "then" | "fi") || word.starts_with(';')
}

/// A user's or a group's name, as `adduser --force-badname` takes it.
fn is_name(word: &str) -> bool {
    let first = word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    first
        && word.len() <= 32
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// A word with the variables that the script has set before: `$NAME` and `${NAME}` alone.
fn expanded(word: &str, variables: &BTreeMap<String, String>) -> String {
    let mut word = word.to_owned();
    // The longest first: `$USER_NAME` is not `$USER`.
    let mut known: Vec<_> = variables.iter().collect();
    known.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    for (name, value) in known {
        word = word.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
        // A script that doubles a variable with each line must not fill our memory.
        word.truncate(word.floor_char_boundary(4096));
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(script: &str) -> (String, String) {
        let mut accounts = Accounts::default();
        accounts.read(script);
        (accounts.passwd(), accounts.group_lines())
    }

    #[test]
    fn a_user_that_a_script_makes_over_two_lines_is_there() {
        let (passwd, group) = of(
            "case \"$1\" in\n configure)\n  adduser --system --disabled-login --home /run/lldpd \\\n --no-create-home --quiet --force-badname --group _lldpd\n ;;\nesac\n",
        );
        assert_eq!(passwd, "_lldpd:x:110:110::/run/lldpd:/bin/false\n");
        assert_eq!(group, "_lldpd:x:110:\n");
    }

    #[test]
    fn variables_that_the_script_sets_are_known() {
        let (passwd, group) = of(
            "DIR=\"/var/lib/snmp\"\nSNMP_USER=\"Debian-snmp\"\nSNMP=\"x\"\nadduser --quiet --system --home \"$DIR\" --shell \"$SH\" \"${SNMP_USER}\"\nif ! getent group ssl-cert >/dev/null; then addgroup --system --force-badname ssl-cert; fi\n",
        );
        assert_eq!(passwd, "Debian-snmp:x:110:110::/var/lib/snmp:/bin/false\n");
        assert_eq!(group, "Debian-snmp:x:110:\nssl-cert:x:111:\n");
    }

    #[test]
    fn what_is_made_and_what_is_not_is_one_line() {
        let summary = |script: &str| {
            let mut accounts = Accounts::default();
            accounts.read(script);
            accounts.summary()
        };
        assert_eq!(summary("echo hello"), None);
        assert_eq!(
            summary("adduser --system _lldpd\nadduser --quiet _lldpd adm\nuseradd \"$1\" || true")
                .unwrap(),
            "accounts of packages: made _lldpd; not made: `adduser --quiet _lldpd adm`, `useradd $1`"
        );
        let many = "groupadd \"$1\"\n".repeat(10);
        assert!(summary(&many).unwrap().ends_with("`groupadd $1` and 2 more"));
    }

    #[test]
    fn what_is_no_plain_name_makes_nobody() {
        for script in [
            "adduser --system \"$1\"",
            "adduser --system 'a:0:0'",
            "adduser --quiet snmp adm",
            "echo 'run adduser first",
            "adduser --home '/x:y' ../etc",
            "",
        ] {
            assert_eq!(of(script), (String::new(), String::new()), "{script}");
        }
        assert_eq!(of("adduser --home '/x:y' a").0, "a:x:110:110::/nonexistent:/bin/false\n");
    }
}
