//! The users and groups that packages ask for: lines of `/etc/passwd` and `/etc/group`.
//!
//! They are asked for with `adduser`, `addgroup`, `useradd` and `groupadd` in an install script ([`super::setup`]
//! reads it), or with a line of sysusers.d. Members of groups are not made. Pure.

use super::recipe;

/// The first number of those accounts; what the image has of its own is below.
const FIRST: u32 = 110;

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
}

#[derive(Debug, PartialEq, Eq)]
struct User {
    name: String,
    home: String,
}

impl Accounts {
    /// Adds what a command of a script asks for; `false` where it says no plain name.
    pub(super) fn ask(&mut self, program: &str, words: &[String]) -> bool {
        let (mut names, mut home) = (Vec::new(), "/nonexistent".to_owned());
        let mut words = words.iter();
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
            _ => return false,
        }
        true
    }

    /// Adds what a line of sysusers.d asks for; `false` where it is no user and no group.
    pub(super) fn sysusers(&mut self, words: &[String]) -> bool {
        match words {
            [kind, name, rest @ ..] if kind.starts_with('u') && is_name(name) => {
                let home = rest.get(2).filter(|home| home.starts_with('/'));
                self.user(name, home.cloned().unwrap_or_else(|| "/".to_owned()));
            }
            [kind, name, ..] if kind == "g" && is_name(name) => self.group(name),
            _ => return false,
        }
        true
    }

    fn user(&mut self, name: &str, home: String) {
        // The home is a field of a line, and no other line.
        let home = if home.contains([':', '\n']) { "/nonexistent".to_owned() } else { home };
        if of_image(name).is_none() && !self.users.iter().any(|user| user.name == name) {
            self.users.push(User { name: name.to_owned(), home });
        }
        self.group(name);
    }

    fn group(&mut self, name: &str) {
        if of_image(name).is_none() && !self.groups.iter().any(|group| group == name) {
            self.groups.push(name.to_owned());
        }
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

    /// The number of the user or group of a name; `None` where no one asked for it.
    pub(super) fn id(&self, name: &str) -> Option<u32> {
        of_image(name)
            .or_else(|| self.groups.iter().any(|known| known == name).then(|| self.number(name)))
    }

    /// A group's number, and that of the user of its name.
    fn number(&self, name: &str) -> u32 {
        (FIRST..)
            .zip(&self.groups)
            .find(|(_, group)| *group == name)
            .map_or(0, |(number, _)| number)
    }
}

/// The number of an account that the image has of its own.
fn of_image(name: &str) -> Option<u32> {
    let files =
        recipe::FILES.iter().filter(|(path, _)| [recipe::PASSWD, recipe::GROUP].contains(path));
    let mut lines = files.flat_map(|(_, text)| text.lines());
    lines.find_map(|line| {
        line.strip_prefix(name)?.strip_prefix(":x:")?.split(':').next()?.parse().ok()
    })
}

/// A user's or a group's name, as `adduser --force-badname` takes it.
fn is_name(word: &str) -> bool {
    let first = word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    first
        && word.len() <= 32
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_sysusers_make_users_and_groups() {
        let mut accounts = Accounts::default();
        let lines = [
            (r#"u! _chrony 123 "Chrony daemon" /var/lib/chrony /usr/sbin/nologin"#, true),
            ("g input - -", true),
            ("u plain -", true),
            // systemd's own file asks for these too.
            ("u root 0 - /root /bin/bash", true),
            ("g adm 4 -", true),
            ("m _chrony input", false),
            ("u ../etc -", false),
            ("u", false),
        ];
        for (line, made) in lines {
            assert_eq!(accounts.sysusers(&shlex::split(line).unwrap()), made, "{line}");
        }
        let passwd =
            "_chrony:x:110:110::/var/lib/chrony:/bin/false\nplain:x:112:112::/:/bin/false\n";
        assert_eq!(accounts.passwd(), passwd);
        assert_eq!(accounts.group_lines(), "_chrony:x:110:\ninput:x:111:\nplain:x:112:\n");
        assert_eq!((accounts.id("plain"), accounts.id("adm")), (Some(112), Some(4)));
        assert_eq!(accounts.id("no-one"), None);
    }
}
