//! The trace, as sahtrace decides it: each message asks whether its zone wants it, and none is printed here.
//!
//! As it was found each question walks the list of zones and compares names; with the gate one number comes first.

use std::{collections::LinkedList, fmt, hint::black_box};

use crate::variant::strcmp;

const INFO: i32 = 400;
const WARNING: i32 = 200;
/// The zones that have registered themselves, in that order.
const ZONES: &str = "wld wldRad wldAp wldSsid wldEp wldPrb wldUtil wldChan wldWps wldSec wldRadO wldMon wldDbg wldSta \
wldTin wldFsm wldVap wldMnt wldRob wldBgd wldAcs wldDm wldEvt wldZwd wldDfs wldPer wldAff wldMld genRad genAp genVap genEp \
genFsm genHapd genWpa genStn genEvt genScn genZwd genMxl hapdCfg hapdCtl hapdAp hapdRad wpaCtl wpaSup wpaCfg nlComp nlEvt \
nlApi nlAttr nlParse nlRad nlScan nlVend nlCore swlMac swlMcs swlBw swlChan swlMap swlTab swlUnLi swlConv swlExec swlFile \
swlCrypt swlUuid swlTime swlObj swlDm ad adCap adRrm netUtil netLnk bridge dmnMgt dmnExec all";

#[derive(Debug)]
pub(crate) struct Trace {
    zones: LinkedList<(String, i32)>,
    /// The highest level of any zone, where it is compared first.
    gate: Option<i32>,
}

impl Trace {
    /// A trace whose zones are walked for each message.
    pub(crate) fn walk() -> Self {
        let zones = ZONES.split(' ').map(|zone| (zone.to_owned(), WARNING));
        Self { zones: zones.collect(), gate: None }
    }

    pub(crate) fn gate() -> Self {
        Self { gate: Some(WARNING), ..Self::walk() }
    }

    #[inline(never)]
    pub(crate) fn info(&self, zone: &str, message: fmt::Arguments<'_>) {
        let is_open = self.gate.is_none_or(|highest| INFO <= highest);
        if is_open && self.get_zone(zone).or_else(|| self.get_zone("all")) >= Some(INFO) {
            black_box(message.to_string());
        }
    }

    #[inline(never)]
    fn get_zone(&self, zone: &str) -> Option<i32> {
        self.zones.iter().find(|(name, _)| strcmp(name, zone)).map(|(_, level)| *level)
    }
}
