//! Asking the guard that runs, at its control socket.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::failure::{ENVIRONMENT, Failure, INVALID};

/// The socket's name in the state folder.
pub const SOCKET: &str = "control";
/// A guard answers between two ticks, and its ticks are at most 2 s apart.
const PATIENCE: Duration = Duration::from_secs(4);

/// The socket of a state folder.
pub fn socket(state: &Path) -> PathBuf {
    state.join(SOCKET)
}

/// Asks; the answer's text.
/// Fails where no guard runs, where it does not answer, and where it refuses.
pub fn ask(state: &Path, request: &str) -> Result<String, Failure> {
    let answer = exchange(&socket(state), request).map_err(|error| unanswered(state, &error))?;
    match answer.split_once('\n') {
        Some(("done", text)) => Ok(text.to_owned()),
        Some(("refused", text)) => Err(Failure { code: INVALID, line: text.trim().to_owned() }),
        _ => Err(Failure {
            code: ENVIRONMENT,
            line: format!("what answers at {} is not a guard", socket(state).display()),
        }),
    }
}

fn exchange(socket: &Path, request: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    writeln!(stream, "{request}")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn unanswered(state: &Path, error: &io::Error) -> Failure {
    use io::ErrorKind as K;
    let folder = state.display();
    let line = match error.kind() {
        K::NotFound => {
            format!("no guard runs with {folder}: start one, or name its folder with --state")
        }
        K::ConnectionRefused => format!(
            "the guard of {folder} is dead: `guard restore --state {folder}` puts back what it left"
        ),
        K::WouldBlock | K::TimedOut => format!(
            "the guard of {folder} does not answer within {} s: its watchdog restores if it hangs",
            PATIENCE.as_secs()
        ),
        K::PermissionDenied => format!("only root reaches the guard of {folder}"),
        _ => format!("cannot ask the guard of {folder}: {error}"),
    };
    Failure { code: ENVIRONMENT, line }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::net::UnixListener, thread};

    use super::*;

    fn answered(answer: &'static str) -> Result<String, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(socket(folder.path())).unwrap();
        let guard = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = [0; 7];
            stream.read_exact(&mut line).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let received = ask(folder.path(), "status");
        guard.join().unwrap();
        received
    }

    #[test]
    fn an_answer_is_its_text() {
        assert_eq!(answered("done\n{}\n"), Ok("{}\n".to_owned()));
        assert_eq!(answered("refused\nno\n").unwrap_err().line, "no");
        assert!(answered("SSH-2.0\n").unwrap_err().line.contains("is not a guard"));
    }

    #[test]
    fn a_guard_that_is_not_there_is_distinguished_from_one_that_died() {
        let folder = tempfile::tempdir().unwrap();
        let none = ask(folder.path(), "status").unwrap_err();
        assert!(none.code == ENVIRONMENT && none.line.starts_with("no guard runs"), "{none}");
        drop(UnixListener::bind(socket(folder.path())).unwrap());
        let dead = ask(folder.path(), "status").unwrap_err();
        assert!(dead.line.contains("guard restore"), "{dead}");
    }
}
