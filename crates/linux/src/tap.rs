//! TAP interfaces: Ethernet links whose other end is a descriptor.
//!
//! Every read takes one frame that the stack sent over the interface, every write gives it one to receive. The
//! interface is made with its descriptor and goes with it, in the network namespace of the thread that opened it.
//!
//! Format: <https://docs.kernel.org/networking/tuntap.html>. Minimum kernel: 2.6.27.

use std::{
    io::{self, IoSliceMut},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags, open},
    io::{Errno, ReadWriteFlags, preadv2, read},
    ioctl::{Opcode, opcode},
};

use crate::{error::checked, link::interface_request};

/// `TUNSETIFF` of `include/uapi/linux/if_tun.h`.
const SET_INTERFACE: Opcode = opcode::write::<i32>(b'T', 202);
/// `IFF_TAP | IFF_NO_PI`: Ethernet frames, and nothing before them.
const FLAGS: i16 = 0x0002 | 0x1000;
/// `IFF_TUN_EXCL`: an interface of this name that is there already is not ours.
const EXCLUSIVE: i16 = 0x8000_u16 as i16;

/// The place in a stream: where it is (`preadv2(2)`, -1).
const HERE: u64 = u64::MAX;

/// The longest name of an interface, bytes (`IFNAMSIZ` less its NUL).
pub const LONGEST_NAME: usize = 15;

/// A TAP interface; it is there as long as this is.
#[derive(Debug)]
pub struct Tap {
    fd: OwnedFd,
    name: String,
}

impl Tap {
    /// Makes the interface with this name.
    /// Fails with `ENOENT` where the kernel has no TAPs or `/dev/net/tun` is missing, `EPERM` without `CAP_NET_ADMIN`,
    /// `EBUSY` where there is an interface of that name, `EINVAL` where it is no name of one.
    pub fn open(name: &str) -> io::Result<Self> {
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains(['/', '%', ':', '\0']) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let fd = open("/dev/net/tun", flags, Mode::empty())?;
        let mut request = interface_request(name);
        request.ifr_ifru.ifru_flags = FLAGS | EXCLUSIVE;
        // SAFETY: `TUNSETIFF` reads and writes an `ifreq`, which this is, and which outlives the call.
        checked(unsafe { libc::ioctl(fd.as_raw_fd(), SET_INTERFACE as _, &raw mut request) })?;
        Ok(Self { fd, name: name.to_owned() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the next frame that the stack sent over the interface, and gives its length; `None` where there
    /// is none now. A frame that is longer than the buffer is cut.
    /// Fails with `EBADFD` where the interface was removed.
    pub fn receive(&self, frame: &mut [u8]) -> io::Result<Option<usize>> {
        let mut whole = [IoSliceMut::new(frame)];
        let result = match preadv2(&self.fd, &mut whole, HERE, ReadWriteFlags::NOWAIT) {
            // Older kernels cannot read a TAP so: they are asked first.
            Err(Errno::OPNOTSUPP) if !self.is_ready()? => Err(Errno::AGAIN),
            Err(Errno::OPNOTSUPP) => read(&self.fd, frame),
            result => result,
        };
        reported(result)
    }

    /// As [`Tap::receive`], but sleeps until there is one; `None` where a signal ended the sleep.
    /// Fails with `EFAULT` where the interface is removed meanwhile, `EBADFD` where it was.
    pub fn receive_waiting(&self, frame: &mut [u8]) -> io::Result<Option<usize>> {
        reported(read(&self.fd, frame))
    }

    /// Whether there is a frame, or the interface is gone.
    fn is_ready(&self) -> io::Result<bool> {
        let mut this = [PollFd::new(&self.fd, PollFlags::IN)];
        Ok(poll(&mut this, Some(&Timespec::default()))? > 0)
    }

    /// Lets the interface receive a frame.
    /// Fails with `EIO` where the interface is down, `EINVAL` where the frame is shorter than an Ethernet header.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        rustix::io::write(&self.fd, frame)?;
        Ok(())
    }
}

/// A frame's length, or that there is none.
fn reported(result: Result<usize, Errno>) -> io::Result<Option<usize>> {
    match result {
        Ok(length) => Ok(Some(length)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        link::{self, Links},
        packet,
    };

    #[test]
    fn the_number_of_the_call_is_the_kernels() {
        // Of `asm-generic`, which all but a few architectures have.
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm")) {
            assert_eq!(SET_INTERFACE as u64, 0x4004_54ca);
        }
    }

    #[test]
    fn what_is_no_name_is_refused_before_anything_is_opened() {
        for name in ["", "0123456789abcdef", "a/b", "a%d"] {
            assert_eq!(Tap::open(name).unwrap_err().raw_os_error(), Some(libc::EINVAL), "{name}");
        }
    }

    #[test]
    fn an_interface_carries_frames_and_goes_with_its_descriptor() {
        let result = std::thread::spawn(|| {
            link::enter_new_network_namespace()?;
            let tap = Tap::open("hr-tap")?;
            assert_eq!(Tap::open("hr-tap").unwrap_err().raw_os_error(), Some(libc::EBUSY));
            let mut links = Links::open().unwrap();
            let index = links.index("hr-tap").unwrap().expect("it was made");
            assert_eq!(tap.send(&[0; 60]).unwrap_err().raw_os_error(), Some(libc::EIO), "down");
            links.set_up(index).unwrap();
            let socket = packet::open(index, Some(0x88b5)).unwrap();
            let mut frame = [7; 60];
            frame[12..14].copy_from_slice(&[0x88, 0xb5]);
            assert_eq!(tap.send(&frame[..13]).unwrap_err().raw_os_error(), Some(libc::EINVAL));
            tap.send(&frame).unwrap();
            let mut buffer = [0; 2048];
            let (length, _) =
                rustix::net::recv(&socket, &mut buffer, rustix::net::RecvFlags::empty()).unwrap();
            assert_eq!(buffer[..length], frame);
            rustix::net::send(&socket, &frame, rustix::net::SendFlags::empty()).unwrap();
            let carried =
                std::iter::from_fn(|| tap.receive(&mut buffer).unwrap()).collect::<Vec<_>>();
            assert!(carried.contains(&60), "{carried:?}");
            rustix::net::send(&socket, &frame, rustix::net::SendFlags::empty()).unwrap();
            while tap.receive_waiting(&mut buffer).unwrap() != Some(60) {}
            drop(tap);
            assert_eq!(links.index("hr-tap").unwrap(), None);
            io::Result::Ok(())
        });
        if let Err(why) = result.join().unwrap() {
            skip::skip!("no TAP can be made here: {why}");
        }
    }
}
