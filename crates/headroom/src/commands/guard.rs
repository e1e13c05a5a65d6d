//! `headroom guard`: the verbs of the device's program `guard`, for devices that have all of headroom.
//!
//! No lab, no cache, no access point of ours: everything is guard's own, its exit codes too, which are headroom's.

use crate::failure::Verdict;

pub(crate) fn carry_out(flags: &::guard::command::Guard) -> Verdict {
    Verdict::Command(::guard::command::carry_out(flags, "headroom guard"))
}
