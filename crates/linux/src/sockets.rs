//! Sockets of one machine, by their inodes, and which are connected with which.
//!
//! Formats: `sock_diag(7)` (`unix_diag`, 3.3), <https://docs.kernel.org/networking/proc_net_tcp.html>.

use std::{
    collections::BTreeSet,
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::{AsFd, AsRawFd},
    thread,
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::{
    error::checked,
    netlink::{self, Attributes, Protocol, Request, Socket, u32_at},
    proc,
};

const UNIX_SOCKETS: &str = "the list of unix sockets";

const BY_FAMILY: u16 = 20;
/// `UDIAG_SHOW_NAME | UDIAG_SHOW_PEER`.
const SHOW: u32 = 1 | 4;
const UNIX_DIAG_NAME: u16 = 0;
const UNIX_DIAG_PEER: u16 = 2;
/// `struct unix_diag_msg`: family, type, state, padding, inode, cookie of two words.
const UNIX_MESSAGE: usize = 16;

/// `TCP_ESTABLISHED` and `TCP_LISTEN` of the kernel's `include/net/tcp_states.h`.
const ESTABLISHED: u8 = 1;
const LISTEN: u8 = 10;

/// Who is at the other end of a connected unix socket, as it was when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    /// Its user, in our user namespace.
    pub uid: u32,
    /// Its process; `None` where our PID namespace does not see it.
    pub pid: Option<u32>,
}

/// Who is at the other end (`SO_PEERCRED`, `unix(7)`). Of a socket that is not unix's the kernel knows no user, and says
/// 4294967295.
pub fn peer(socket: impl AsFd) -> io::Result<Peer> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both pointers lead to initialised values that outlive the call, and `length` is the size of what the
    // first of them leads to, which is plain numbers.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    checked(answer)?;
    Ok(Peer { uid: peer.uid, pid: u32::try_from(peer.pid).ok().filter(|pid| *pid != 0) })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unix {
    pub inode: u32,
    /// The inode of the socket that it sends to; not always one that sends back.
    pub peer: Option<u32>,
    /// Its path, or its abstract name behind an `@`.
    pub name: Option<String>,
}

/// All unix sockets of the network namespace that a process is in.
/// Fails with [`netlink::Error`]: a refusal with `ENOENT` where the kernel has no `unix_diag`, [`netlink::Error::Open`]
/// where the namespace cannot be entered.
pub fn unix_of(pid: u32) -> Result<Vec<Unix>, netlink::Error> {
    unix(&mut open_in(pid)?)
}

/// All unix sockets that this conversation tells of.
pub fn unix(socket: &mut Socket) -> Result<Vec<Unix>, netlink::Error> {
    // `struct unix_diag_req`: family, protocol, padding, states, inode, what to show, cookie.
    let mut body = [0; 24];
    body[0] = libc::AF_UNIX as u8;
    body[4..8].copy_from_slice(&u32::MAX.to_ne_bytes());
    body[12..16].copy_from_slice(&SHOW.to_ne_bytes());
    socket.dump(Request::new(UNIX_SOCKETS, BY_FAMILY).fixed(&body), unix_message)
}

/// Parses `struct unix_diag_msg` and its attributes.
fn unix_message(payload: &[u8]) -> Option<Unix> {
    let inode = u32_at(payload, 4)?;
    let attributes = Attributes::new(payload.get(UNIX_MESSAGE..)?);
    let peer = attributes.clone().find(UNIX_DIAG_PEER).and_then(|peer| peer.as_u32());
    let name = attributes.find(UNIX_DIAG_NAME).and_then(|name| unix_name(name.payload));
    Some(Unix { inode, peer: peer.filter(|&peer| peer != 0), name })
}

/// A path ends with its first NUL; an abstract name begins with one, and may hold more.
fn unix_name(bytes: &[u8]) -> Option<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(char::is_control, "?");
    match bytes {
        [] | [0] => None,
        [0, name @ ..] => Some(format!("@{}", text(name))),
        path => path.split(|&byte| byte == 0).next().map(text),
    }
}

/// A socket that sees what a process sees of the network. Namespaces belong to threads, so another one
/// enters it, for as long as it takes to open the socket.
fn open_in(pid: u32) -> Result<Socket, netlink::Error> {
    let theirs = format!("/proc/{pid}/ns/net");
    let same = fs::read_link(&theirs).ok().zip(fs::read_link("/proc/self/ns/net").ok());
    if same.is_none_or(|(theirs, ours)| theirs == ours) {
        return Socket::open(Protocol::Sockets);
    }
    let opened = thread::spawn(move || {
        let namespace = fs::File::open(theirs).map_err(netlink::Error::Open)?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|errno| netlink::Error::Open(errno.into()))?;
        Socket::open(Protocol::Sockets)
    });
    opened.join().unwrap_or_else(|_| Err(netlink::Error::Open(io::ErrorKind::Other.into())))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub established: bool,
    pub listens: bool,
    /// Its inode; 0 once no process has it any more.
    pub inode: u32,
}

/// All TCP sockets of the network namespace that a process is in, of both families.
pub fn tcp_of(pid: u32) -> Vec<Tcp> {
    let read = |file| proc::read(format!("/proc/{pid}/net/{file}")).unwrap_or_default();
    [read("tcp"), read("tcp6")].iter().flat_map(|text| tcp(text)).collect()
}

/// Parses `/proc/net/tcp` or `tcp6`; lines that it does not understand, as the heading, are left out.
pub fn tcp(text: &[u8]) -> Vec<Tcp> {
    String::from_utf8_lossy(text).lines().filter_map(tcp_line).collect()
}

/// A line: place, local, remote, state, and the inode as the tenth word.
fn tcp_line(line: &str) -> Option<Tcp> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (local, remote) = (address(words.next()?)?, address(words.next()?)?);
    let state = u8::from_str_radix(words.next()?, 16).ok()?;
    let inode = words.nth(5)?.parse().ok()?;
    let (established, listens) = (state == ESTABLISHED, state == LISTEN);
    Some(Tcp { local, remote, established, listens, inode })
}

/// `0100007F:1F90`: each word of the address in the machine's byte order, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |place: usize| {
        let digits = address.get(place * 8..place * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let ip = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for place in 0..4 {
                bytes[place * 4..place * 4 + 4].copy_from_slice(&word(place)?);
            }
            // One end may be of a socket that speaks both, and the other not.
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// The inodes of the sockets that a process has open; none where it has ended or is not ours to see.
pub fn inodes_of(pid: u32) -> BTreeSet<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return BTreeSet::new() };
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter_map(|link| socket_inode(link.to_str()?)).collect()
}

/// `socket:[1234]`.
fn socket_inode(link: &str) -> Option<u32> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::{
        net::{TcpListener, TcpStream},
        os::{
            fd::AsRawFd,
            unix::net::{UnixDatagram, UnixListener, UnixStream},
        },
    };

    use proptest::prelude::*;
    use rustix::io::Errno;

    use super::*;
    use crate::netlink::Script;

    /// As Linux 6.18 told on x86-64 of a listener, a client, what the listener accepted, and a datagram
    /// socket that is connected to another.
    #[cfg(target_endian = "little")]
    const RECORDED: [(&str, u32, Option<u32>, Option<&str>); 4] = [
        (
            "01010a004e0a160003100000000000000e0000002f746d702f68722d730000000500060000000000",
            1_444_430,
            None,
            Some("/tmp/hr-s"),
        ),
        (
            "010101004f0a1600051000000000000008000200500a16000500060000000000",
            1_444_431,
            Some(1_444_432),
            None,
        ),
        (
            "01010100500a160006100000000000000e0000002f746d702f68722d73000000080002004f0a1600\
             0500060000000000",
            1_444_432,
            Some(1_444_431),
            Some("/tmp/hr-s"),
        ),
        (
            "01020100520a160007100000000000000e0000000068722d636c69656e74000008000200510a1600\
             0500060000000000",
            1_444_434,
            Some(1_444_433),
            Some("@hr-client"),
        ),
    ];

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        digits.chunks(2).map(|two| pair(two).expect("hexadecimal digits")).collect()
    }

    fn inode(fd: &impl AsRawFd) -> u32 {
        let link = fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).expect("it is open");
        socket_inode(link.to_str().expect("ASCII")).expect("a socket")
    }

    #[test]
    fn the_other_end_is_known_by_its_user_and_process() {
        let (ours, _theirs) = UnixStream::pair().expect("a pair");
        let uid = rustix::process::getuid().as_raw();
        let expected = Peer { uid, pid: Some(std::process::id()) };
        assert_eq!(peer(&ours).expect("it is a socket"), expected);
        let file = fs::File::open("/dev/null").expect("it is there");
        assert!(peer(file).is_err());
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn recorded_sockets_are_read() {
        for (hex, inode, peer, name) in RECORDED {
            let name = name.map(str::to_owned);
            assert_eq!(unix_message(&bytes(hex)), Some(Unix { inode, peer, name }));
        }
    }

    #[test]
    fn a_message_that_is_cut_is_no_socket() {
        assert_eq!(unix_message(&bytes(RECORDED[0].0)[..15]), None);
        assert_eq!(unix_message(b""), None);
    }

    #[test]
    fn a_kernel_without_the_module_is_distinguished() {
        let refusal = (-Errno::NOENT.raw_os_error()).to_ne_bytes();
        let answer = move |request: &[u8]| {
            let sequence = u32_at(request, 8).expect("a request");
            vec![Ok(Request::new("", 2).fixed(&refusal).bytes(0, sequence))]
        };
        let mut socket = Socket::over(Script::new(answer).expect("an eventfd"));
        assert!(unix(&mut socket).expect_err("a refusal").is_refusal(Errno::NOENT));
    }

    #[test]
    fn this_machines_unix_sockets_are_found_with_their_peers() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("server");
        let listener = UnixListener::bind(&path).expect("a path");
        let client = UnixStream::connect(&path).expect("it listens");
        let (accepted, _) = listener.accept().expect("one waits");
        let server = UnixDatagram::bind(folder.path().join("control")).expect("a path");
        let asking = UnixDatagram::unbound().expect("a socket");
        asking.connect(folder.path().join("control")).expect("it is bound");
        let all = match unix_of(std::process::id()) {
            Err(error) if error.is_refusal(Errno::NOENT) => return,
            all => all.expect("a list"),
        };
        let of = |inode| all.iter().find(|socket| socket.inode == inode).expect("it is listed");
        let held = inodes_of(std::process::id());
        assert!(held.contains(&inode(&client)) && held.contains(&inode(&server)));
        assert_eq!(of(inode(&client)).peer, Some(inode(&accepted)));
        assert_eq!(of(inode(&accepted)).peer, Some(inode(&client)));
        assert_eq!(of(inode(&accepted)).name.as_deref(), path.to_str());
        assert_eq!(of(inode(&asking)).peer, Some(inode(&server)));
        assert_eq!(of(inode(&server)).peer, None);
    }

    #[test]
    fn this_machines_tcp_sockets_are_found_with_both_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (accepted, _) = listener.accept().expect("one waits");
        let all = tcp_of(std::process::id());
        let of = |inode| *all.iter().find(|socket| socket.inode == inode).expect("it is listed");
        assert!(of(inode(&listener)).listens && !of(inode(&listener)).established);
        let (one, other) = (of(inode(&client)), of(inode(&accepted)));
        assert_eq!((one.local, one.remote), (other.remote, other.local));
        assert_eq!(Some(one.remote), listener.local_addr().ok());
        assert!(one.established && !one.listens);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn recorded_lines_are_read_and_others_left_out() {
        let text = b"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 0101A8C0:D431 01 00000000:00000000 00:00000000 00000000     0        0 1589 1 0000000049c65c94 20 4 30 10 -1
   1: 0000000000000000FFFF00000100007F:0016 00000000000000000000000001000000:0000 0A 0:0 00:0 0 0 0 77 1
   2: 0100007F:1F90 0101A8C0
";
        let all = tcp(text);
        let ends: Vec<String> =
            all.iter().map(|one| format!("{} {}", one.local, one.remote)).collect();
        assert_eq!(ends, ["127.0.0.1:8080 192.168.1.1:54321", "127.0.0.1:22 [::1]:0"]);
        assert_eq!((all[0].inode, all[1].inode), (1589, 77));
        assert_eq!((all[0].established, all[1].listens), (true, true));
    }

    #[test]
    fn a_link_to_something_else_is_no_socket() {
        assert_eq!(socket_inode("socket:[77]"), Some(77));
        assert_eq!(socket_inode("pipe:[77]"), None);
        assert_eq!(socket_inode("socket:[7"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_parser_panic(bytes: Vec<u8>) {
            let _ = (unix_message(&bytes), tcp(&bytes), unix_name(&bytes));
        }

        #[test]
        fn no_line_makes_a_parser_panic(text in "[0-9]: [0-9A-Fa-fé:]{0,40} [0-9A-F:]{0,40} 01( [0-9]+){0,8}") {
            let _ = tcp(text.as_bytes());
        }
    }
}
