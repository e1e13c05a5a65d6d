//! Which registers there are, by the numbers that performance events give them.
//!
//! Source: `arch/*/include/uapi/asm/perf_regs.h`, and each architecture's calling convention.

/// All registers of user mode that unwinding may need; `None` where the architecture is not known here.
pub const fn user() -> Option<u64> {
    if cfg!(target_arch = "x86_64") {
        // All but the segments DS, ES, FS and GS, which a 64-bit kernel refuses.
        Some(0xff_0fff)
    } else if cfg!(target_arch = "aarch64") {
        Some((1 << 33) - 1)
    } else if cfg!(target_arch = "arm") {
        Some(0xffff)
    } else {
        None
    }
}

/// The register that holds an integer argument at a function's first instruction, as a bit; arguments
/// count from 0. `None` where it is not in a register.
pub fn argument(place: u8) -> Option<u64> {
    let numbers: &[u8] = if cfg!(target_arch = "x86_64") {
        // DI, SI, DX, CX, R8, R9.
        &[5, 4, 3, 2, 16, 17]
    } else if cfg!(target_arch = "aarch64") {
        &[0, 1, 2, 3, 4, 5, 6, 7]
    } else if cfg!(target_arch = "arm") {
        &[0, 1, 2, 3]
    } else {
        &[]
    };
    numbers.get(usize::from(place)).map(|&number| 1 << number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_has_a_register_that_can_be_sampled() {
        let Some(all) = user() else { return };
        let known: Vec<u64> = (0..=u8::MAX).map_while(argument).collect();
        assert!(!known.is_empty());
        assert!(known.iter().all(|bit| bit.count_ones() == 1 && all & bit == *bit));
    }
}
