//! Where the machine's time and packets go, CPU by CPU: pure parsers of `/proc` files that are read often.
//!
//! Each shows its rows one by one and allocates nothing; a row that is not in the documented form is left out.
//!
//! Formats: proc(5), `net/core/net-procfs.c`, <https://docs.kernel.org/accounting/psi.html>.

/// `CONFIG_NR_CPUS` is 8192 at most.
const MOST_CPUS: u32 = 8192;

/// One CPU of `/proc/stat`, clock ticks since boot.
///
/// Most kernels count by looking, at each timer interrupt, at what is interrupted: a tick of
/// `CONFIG_HZ` is the least that they see, whatever the unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuLine {
    pub cpu: u32,
    /// User mode, nice included; guests' time is in it.
    pub user: u64,
    pub system: u64,
    pub idle: u64,
    /// Nothing to do, and some process waits for a disk.
    pub wait: u64,
    pub irq: u64,
    pub softirq: u64,
    pub steal: u64,
}

/// Shows `each` online CPU of `/proc/stat`.
pub fn cpus(text: &[u8], mut each: impl FnMut(CpuLine)) {
    for line in text.split(|&byte| byte == b'\n') {
        let Some(rest) = line.strip_prefix(b"cpu") else { break };
        // The first line is the sum and has no number.
        if let Some(line) = cpu_line(rest).filter(|_| rest.first() != Some(&b' ')) {
            each(line);
        }
    }
}

fn cpu_line(rest: &[u8]) -> Option<CpuLine> {
    let mut fields = words(rest);
    let cpu = u32::try_from(number(fields.next()?)?).ok()?;
    Some(CpuLine { cpu, ..times(fields)? })
}

/// What stands behind a CPU's name.
pub(crate) fn times<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Option<CpuLine> {
    let mut fields = fields.map(number);
    let mut next = || fields.next()?;
    let (user, nice) = (next()?, next()?);
    Some(CpuLine {
        cpu: 0,
        user: user.wrapping_add(nice),
        system: next()?,
        idle: next()?,
        wait: next()?,
        irq: next()?,
        softirq: next()?,
        // Kernels before 2.6.11 do not know it.
        steal: next().unwrap_or(0),
    })
}

/// One CPU's row of `/proc/net/softnet_stat`, since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Softnet {
    /// The CPU; `None` on kernels before 5.10, whose rows are the online CPUs in order.
    pub cpu: Option<u32>,
    /// Packets taken from queues (32 bits, wraps).
    pub processed: u32,
    /// Packets that the backlog had no room for.
    pub dropped: u32,
    /// Times that work was cut short with work left.
    pub squeezed: u32,
    /// Packets in the backlog now; `None` before 5.10. NAPI drivers do not use the backlog unless packets are
    /// steered.
    pub backlog: Option<u32>,
}

/// Shows `each` row of `softnet_stat`.
pub fn softnet(text: &[u8], mut each: impl FnMut(Softnet)) {
    for line in text.split(|&byte| byte == b'\n') {
        let mut fields = words(line).map(hexadecimal);
        let mut next = || fields.next()?;
        let (Some(processed), Some(dropped), Some(squeezed)) = (next(), next(), next()) else {
            continue;
        };
        // Columns 4 to 11 tell of what this crate does not use; then backlog length and CPU.
        let mut rest = fields.skip(8);
        let backlog = rest.next().flatten();
        let cpu = rest.next().flatten();
        each(Softnet { cpu, processed, dropped, squeezed, backlog: cpu.and(backlog) });
    }
}

/// One line of `/proc/net/dev`, since the interface was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device<'a> {
    pub name: &'a [u8],
    pub rx_bytes: u64,
    pub rx_packets: u64,
    /// Packets dropped on receipt.
    pub rx_dropped: u64,
    pub tx_bytes: u64,
    pub tx_packets: u64,
    /// Packets dropped on sending, by the driver.
    pub tx_dropped: u64,
}

/// Shows `each` interface of `/proc/net/dev`.
pub fn devices<'a>(text: &'a [u8], mut each: impl FnMut(Device<'a>)) {
    for line in text.split(|&byte| byte == b'\n') {
        if let Some(device) = device(line) {
            each(device);
        }
    }
}

fn device(line: &[u8]) -> Option<Device<'_>> {
    // The heading has no colon; a name may hold one.
    let colon = line.iter().rposition(|&byte| byte == b':')?;
    let name = line.get(..colon)?.trim_ascii();
    let mut fields = [0; 12];
    let mut words = words(line.get(colon + 1..)?);
    for field in &mut fields {
        *field = number(words.next()?)?;
    }
    let [rx_bytes, rx_packets, _, rx_dropped, _, _, _, _, tx_bytes, tx_packets, _, tx_dropped] =
        fields;
    Some(Device { name, rx_bytes, rx_packets, rx_dropped, tx_bytes, tx_packets, tx_dropped })
}

/// Time since boot in which at least one task waited, µs, from a file of `/proc/pressure`.
pub fn pressure_us(text: &[u8]) -> Option<u64> {
    let some = text.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"some "))?;
    number(words(some).find_map(|word| word.strip_prefix(b"total="))?)
}

/// What `/proc/PID/stat` says of a thread's place and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// CPU time, clock ticks, user and kernel.
    pub ticks: u64,
    /// The CPU that it ran on last.
    pub cpu: u32,
    /// Its scheduling policy, `SCHED_…`; 1 and 2 are real-time.
    pub policy: u32,
}

pub fn placement(text: &[u8]) -> Option<Placement> {
    let closes = text.iter().rposition(|&byte| byte == b')')?;
    let mut rest = words(text.get(closes + 1..)?);
    // Fields of proc(5): 14, 15 utime, stime; 39 processor; 41 policy. The first of `rest` is field 3.
    let utime = number(rest.nth(11)?)?;
    let stime = number(rest.next()?)?;
    let cpu = u32::try_from(number(rest.nth(23)?)?).ok()?;
    let policy = u32::try_from(number(rest.nth(1)?)?).ok()?;
    Some(Placement { ticks: utime.saturating_add(stime), cpu, policy })
}

pub fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty())
}

/// A decimal number, by hand: the sampler reads hundreds of them where UTF-8 checks are waste.
pub fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

fn hexadecimal(word: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()
}

/// The CPUs of a list such as `0-2,7`, ascending as written; an empty list has none.
pub fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        found.extend(first..=last.min(MOST_CPUS));
        // More CPUs than any kernel counts: not a list of CPUs.
        if last > MOST_CPUS || found.len() > MOST_CPUS as usize + 1 {
            return None;
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &[u8] = b"cpu  10 2 3 40 5 6 7 8 0 0\n\
        cpu0 5 1 2 20 3 1 4 8 0 0\ncpu2 5 1 1 20 2 5 3\nintr 99 1 2\ncpu9 never read\n";

    fn all_cpus(text: &[u8]) -> Vec<CpuLine> {
        let mut found = Vec::new();
        cpus(text, |line| found.push(line));
        found
    }

    fn all_rows(text: &[u8]) -> Vec<Softnet> {
        let mut found = Vec::new();
        softnet(text, |row| found.push(row));
        found
    }

    #[test]
    fn each_online_cpu_has_its_line_and_the_sum_is_left_out() {
        let found = all_cpus(STAT);
        assert_eq!(found.iter().map(|line| line.cpu).collect::<Vec<_>>(), [0, 2]);
        let first =
            CpuLine { cpu: 0, user: 6, system: 2, idle: 20, wait: 3, irq: 1, softirq: 4, steal: 8 };
        assert_eq!(found[0], first);
        assert_eq!(found[1].steal, 0, "a kernel that knows no stealing");
    }

    #[test]
    fn new_and_old_rows_of_softnet_are_read() {
        let new = b"00016db9 00000001 0000000f 0 0 0 0 0 0 0 0 00000003 00000001 0 0\n";
        let row = Softnet {
            cpu: Some(1),
            processed: 0x16db9,
            dropped: 1,
            squeezed: 15,
            backlog: Some(3),
        };
        assert_eq!(all_rows(new), [row]);
        let old = b"00016db9 00000001 0000000f 0 0 0 0 0 0 0 0\n";
        assert_eq!(all_rows(old), [Softnet { cpu: None, backlog: None, ..row }]);
        assert_eq!(all_rows(b"0001 xyz 3\n\n12 13\n"), []);
    }

    #[test]
    fn interfaces_are_read_with_colons_in_their_names_too() {
        let text = b"Inter-|   Receive\n face |bytes packets\n \
            wlan0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n eth0:1:100 2 3 4 0 0 0 0 9 10 11 12\n short: 1 2\n";
        let mut found = Vec::new();
        devices(text, |device| found.push(device));
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].name, b"wlan0");
        assert_eq!((found[0].rx_bytes, found[0].rx_packets, found[0].rx_dropped), (1, 2, 4));
        assert_eq!((found[0].tx_bytes, found[0].tx_packets, found[0].tx_dropped), (9, 10, 12));
        assert_eq!((found[1].name, found[1].rx_bytes), (&b"eth0:1"[..], 100));
    }

    #[test]
    fn pressure_is_the_total_of_some() {
        let text = b"some avg10=1.00 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0 total=9\n";
        assert_eq!(pressure_us(text), Some(1234));
        assert_eq!(pressure_us(b"full total=9\n"), None);
        assert_eq!(pressure_us(b"some avg10=0\n"), None);
    }

    #[test]
    fn a_threads_place_is_read_whatever_its_name_holds() {
        let text = b"7 (a) R b) S 2 0 0 0 -1 69238848 0 0 0 0 11 31 0 0 20 0 1 0 30 0 0 \
            18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0";
        assert_eq!(placement(text), Some(Placement { ticks: 42, cpu: 3, policy: 0 }));
        assert_eq!(placement(b"7 (a) S 2 0"), None);
    }

    #[test]
    fn a_list_of_cpus_is_read_or_refused() {
        assert_eq!(cpu_list("0-2,7\n"), Some(vec![0, 1, 2, 7]));
        assert_eq!(cpu_list("\n"), Some(Vec::new()));
        assert_eq!(cpu_list("0-99999999"), None);
        assert_eq!(cpu_list("f"), None);
    }

    #[test]
    fn this_machine_has_cpus_and_a_loopback() {
        assert!(!all_cpus(&std::fs::read("/proc/stat").unwrap()).is_empty());
        let text = std::fs::read("/proc/net/dev").unwrap();
        let mut loopback = false;
        devices(&text, |device| loopback |= device.name == b"lo");
        assert!(loopback);
        assert!(placement(&std::fs::read("/proc/self/stat").unwrap()).is_some());
    }
}
