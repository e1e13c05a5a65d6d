//! Refusing system calls: a filter over the numbers of those that this thread may still make.
//!
//! Talks to `prctl`. What is not allowed fails with `EPERM`, as if the right to it were missing; a call of another
//! architecture kills. A filter stays until the process ends, and everything that it starts has it.
//!
//! Formats: `seccomp(2)`, <https://docs.kernel.org/userspace-api/seccomp_filter.html>, the kernel's
//! `include/uapi/linux/{filter,seccomp,audit}.h`. Minimum kernel: 3.5; from 5.11 on the kernel remembers the calls that
//! are always allowed, and runs nothing for them.

use std::io;

use rustix::thread::set_no_new_privs;

use crate::error::checked;

/// Allows a call only where `(argument & mask) == value`, of the argument's lower 32 bits.
#[derive(Clone, Copy, Debug)]
struct Condition {
    argument: u32,
    mask: u32,
    value: u32,
}

/// The architecture's `AUDIT_ARCH_*`; `None` where its numbers are not known here.
const ARCHITECTURE: Option<u32> = if cfg!(all(target_arch = "x86_64", target_pointer_width = "64"))
{
    Some(0xC000_003E)
} else if cfg!(all(target_arch = "aarch64", target_endian = "little", target_pointer_width = "64"))
{
    Some(0xC000_00B7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xC000_00F3)
} else if cfg!(all(target_arch = "arm", target_endian = "little")) {
    Some(0x4000_0028)
} else {
    None
};

/// From here on this thread makes only the calls of a daemon on sockets that are open, and gains no privileges
/// (`no_new_privs`): it moves bytes, accepts connections, makes unix sockets, asks for memory of which nothing new can
/// be executed, and looks at files and removes them.
/// Fails with [`io::ErrorKind::Unsupported`] where this architecture's numbers are not known here; the kernel's,
/// `EINVAL` where it was built without `CONFIG_SECCOMP_FILTER`.
pub fn serve_only() -> io::Result<()> {
    let Some(architecture) = ARCHITECTURE else {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the numbers of this architecture's system calls are not known",
        ));
    };
    let mut program = program(architecture);
    set_no_new_privs(true)?;
    let filter =
        libc::sock_fprog { len: program.len() as libc::c_ushort, filter: program.as_mut_ptr() };
    // SAFETY: the pointers lead to a program of the length that stands beside it; both outlive the call, which copies
    // them and writes nothing.
    let answer =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    checked(answer).map(drop)
}

/// A filter as another program loads it, `struct sock_filter` after `struct sock_filter`: it refuses what a build has no use
/// for. That is memory in nobody's size, which no limit of a process holds; keys of the session, which are in no namespace; other processes of the sandbox;
/// and the widest ways into the kernel. `None` where this architecture's numbers are not known.
pub fn of_builds() -> Option<Vec<u8>> {
    let mut program = head(ARCHITECTURE?);
    let refused = answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32);
    // The same calls by other numbers, on x86-64.
    let other = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
    program.extend([libc::sock_filter { code: other, jt: 0, jf: 1, k: 0x4000_0000 }, refused]);
    for number in NOT_FOR_BUILDS {
        program.extend([jump(*number as u32, Jump { equal: 0, other: 1 }), refused]);
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    let bytes = |one: libc::sock_filter| {
        let [a, b] = one.code.to_ne_bytes();
        let [c, d, e, f] = one.k.to_ne_bytes();
        [a, b, one.jt, one.jf, c, d, e, f]
    };
    Some(program.into_iter().flat_map(bytes).collect())
}

const NOT_FOR_BUILDS: &[libc::c_long] = &[
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
];

/// What a daemon may always call, the most frequent first: the names of today, of before, and of 32 bits, because a C
/// library chooses among them.
const ALWAYS: &[libc::c_long] = &[
    // Waiting for descriptors, and moving bytes over those that are open.
    libc::SYS_epoll_pwait,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_recvmsg,
    libc::SYS_epoll_ctl,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_ppoll,
    #[cfg(any(target_arch = "x86_64", target_arch = "arm"))]
    libc::SYS_epoll_wait,
    #[cfg(any(target_arch = "x86_64", target_arch = "arm"))]
    libc::SYS_poll,
    #[cfg(target_arch = "arm")]
    libc::SYS_recv,
    #[cfg(target_arch = "arm")]
    libc::SYS_send,
    #[cfg(target_arch = "arm")]
    PPOLL_TIME64,
    // Accepting connections, and the sockets that [`SOMETIMES`] lets it make.
    libc::SYS_close,
    libc::SYS_accept4,
    libc::SYS_accept,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_getsockname,
    libc::SYS_fcntl,
    #[cfg(target_arch = "arm")]
    libc::SYS_fcntl64,
    // Memory, clocks, locks of one process, random numbers.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_sched_yield,
    #[cfg(target_arch = "arm")]
    CLOCK_GETTIME64,
    #[cfg(target_arch = "arm")]
    FUTEX_TIME64,
    // Returning from signals, and ending.
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    #[cfg(target_arch = "arm")]
    libc::SYS_sigreturn,
    // Looking at files, and removing them.
    libc::SYS_unlinkat,
    libc::SYS_statx,
    #[cfg(not(target_arch = "arm"))]
    libc::SYS_newfstatat,
    #[cfg(not(target_arch = "arm"))]
    libc::SYS_fstat,
    #[cfg(any(target_arch = "x86_64", target_arch = "arm"))]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "arm")]
    libc::SYS_fstatat64,
    #[cfg(target_arch = "arm")]
    libc::SYS_stat64,
    #[cfg(target_arch = "arm")]
    libc::SYS_lstat64,
    #[cfg(target_arch = "arm")]
    libc::SYS_fstat64,
];

/// `arch/arm/tools/syscall.tbl`; the crate `libc` has no names for them.
#[cfg(target_arch = "arm")]
const CLOCK_GETTIME64: libc::c_long = 403;
#[cfg(target_arch = "arm")]
const PPOLL_TIME64: libc::c_long = 414;
#[cfg(target_arch = "arm")]
const FUTEX_TIME64: libc::c_long = 422;

#[cfg(not(target_arch = "arm"))]
const MMAP: libc::c_long = libc::SYS_mmap;
/// Its offset is in pages; what is checked is the same.
#[cfg(target_arch = "arm")]
const MMAP: libc::c_long = libc::SYS_mmap2;

/// What it may call where an argument is right: unix sockets, and memory that is not executable.
const SOMETIMES: [(libc::c_long, Condition); 4] = [
    (libc::SYS_socket, is(0, libc::AF_UNIX as u32)),
    (libc::SYS_ioctl, is(1, libc::FIONBIO as u32)),
    (MMAP, NOT_EXECUTABLE),
    (libc::SYS_mprotect, NOT_EXECUTABLE),
];

const NOT_EXECUTABLE: Condition = Condition { argument: 2, mask: libc::PROT_EXEC as u32, value: 0 };

const fn is(argument: u32, value: u32) -> Condition {
    Condition { argument, mask: u32::MAX, value }
}

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGUMENTS: u32 = 16;

/// Kills on another architecture, and takes the call's number.
fn head(architecture: u32) -> Vec<libc::sock_filter> {
    let other = answer(libc::SECCOMP_RET_KILL_PROCESS);
    vec![load(ARCH), jump(architecture, Jump { equal: 1, other: 0 }), other, load(NUMBER)]
}

fn program(architecture: u32) -> Vec<libc::sock_filter> {
    let mut program = head(architecture);
    let always = ALWAYS.iter().map(|number| (*number, None));
    let sometimes = SOMETIMES.iter().map(|(number, when)| (*number, Some(*when)));
    // Each call has its own way out: a jump reaches 255 instructions at most, and no list outgrows that.
    for (number, when) in always.chain(sometimes) {
        let body = body(when);
        program.push(jump(number as u32, Jump { equal: 0, other: body.len() as u8 }));
        program.extend(body);
    }
    program.push(answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    program
}

/// What decides about a call once its number is known.
fn body(when: Option<Condition>) -> Vec<libc::sock_filter> {
    let allow = answer(libc::SECCOMP_RET_ALLOW);
    let Some(Condition { argument, mask, value }) = when else { return vec![allow] };
    let lower = if cfg!(target_endian = "little") { 0 } else { 4 };
    let and = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
    vec![
        load(ARGUMENTS + 8 * argument + lower),
        libc::sock_filter { code: and, jt: 0, jf: 0, k: mask },
        jump(value, Jump { equal: 0, other: 1 }),
        allow,
        answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
    ]
}

fn load(offset: u32) -> libc::sock_filter {
    let code = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    libc::sock_filter { code, jt: 0, jf: 0, k: offset }
}

/// How many instructions are passed over.
struct Jump {
    equal: u8,
    other: u8,
}

fn jump(value: u32, Jump { equal, other }: Jump) -> libc::sock_filter {
    let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    libc::sock_filter { code, jt: equal, jf: other, k: value }
}

fn answer(action: u32) -> libc::sock_filter {
    let code = (libc::BPF_RET | libc::BPF_K) as u16;
    libc::sock_filter { code, jt: 0, jf: 0, k: action }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        net::TcpListener,
        os::unix::net::{UnixDatagram, UnixListener, UnixStream},
        process::Command,
        thread,
    };

    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

    use super::*;

    /// On a thread of its own: a filter stays. `None` where this machine has none.
    fn confined<T: Send + 'static>(does: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let thread = thread::spawn(move || {
            if let Err(error) = serve_only() {
                assert!(ARCHITECTURE.is_none() || error.raw_os_error() == Some(libc::EINVAL));
                return None;
            }
            Some(does())
        });
        thread.join().expect("it ends as any thread")
    }

    fn is_denied<T>(result: io::Result<T>) -> bool {
        result.is_err_and(|error| error.raw_os_error() == Some(libc::EPERM))
    }

    #[test]
    fn what_a_daemon_does_not_need_is_denied() {
        let reported = confined(|| {
            [
                is_denied(fs::File::open("/etc/passwd")),
                is_denied(fs::write("/tmp/never", "")),
                is_denied(Command::new("/bin/true").status()),
                is_denied(TcpListener::bind("127.0.0.1:0")),
                is_denied(thread::Builder::new().spawn(|| ())),
            ]
        });
        assert_eq!(reported.unwrap_or([true; 5]), [true; 5]);
    }

    #[test]
    fn what_a_daemon_needs_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).expect("a path");
        let worked = confined(move || -> io::Result<usize> {
            let stream = UnixStream::connect(&path)?;
            let (accepted, _) = listener.accept()?;
            stream.set_nonblocking(true)?;
            UnixDatagram::unbound()?.set_read_timeout(Some(std::time::Duration::from_secs(1)))?;
            io::Write::write_all(&mut &stream, b"hello")?;
            let read = io::Read::read(&mut &accepted, &mut [0; 8])?;
            let memory = vec![7_u8; 64 << 20];
            fs::metadata(&path)?;
            fs::remove_file(&path)?;
            Ok(read + memory.iter().filter(|byte| **byte != 7).count())
        });
        assert_eq!(worked.transpose().expect("all of it is allowed").unwrap_or(5), 5);
    }

    #[test]
    fn new_memory_is_never_executable() {
        let mapped = |protection| {
            confined(move || {
                // SAFETY: a new mapping that nobody has a reference into, and that nobody ever uses.
                let mapped = unsafe {
                    mmap_anonymous(std::ptr::null_mut(), 4096, protection, MapFlags::PRIVATE)
                };
                is_denied(mapped.map(drop).map_err(io::Error::from))
            })
        };
        assert_ne!(mapped(ProtFlags::READ | ProtFlags::WRITE), Some(true));
        assert_ne!(mapped(ProtFlags::READ | ProtFlags::EXEC), Some(false));
    }

    #[test]
    fn a_program_is_within_the_kernels_limit() {
        assert!(program(0).len() < libc::BPF_MAXINSNS as usize);
    }
}
