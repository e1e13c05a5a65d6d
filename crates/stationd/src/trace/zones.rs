//! The list of zones: parts of the daemon that speak, each with the level up to which it does.
//!
//! A list, looked through from its beginning, because that is what it is in the field. It decides
//! nothing; the two ways do.

use super::Level;

/// The zone that speaks for all that are not in the list.
pub const ALL: &str = "all";

/// The daemon's zones, by subsystem. A daemon of this kind has about eighty; the ones that a hot path
/// passes stand where they were registered, not in front.
pub const ZONES: [&str; 79] = [
    "daemon", "options", "config", "loop", "timer", "signal", "clock", "limits", "socket", "nl",
    "nlGenl", "nlFam", "nlSock", "nlMsg", "nlAttr", "nlDump", "nlEvt", "nlErr", "nl80211",
    "nlIface", "nlWiphy", "genSta", "nlSurvey", "nlMlme", "nlRate", "nlChain", "nlMlo", "rad",
    "radStats", "radNoise", "radChan", "radCaps", "ap", "apStats", "apSync", "apEvt", "apVlan",
    "apWds", "assocdev", "adInfo", "adStats", "adSync", "adCaps", "adHist", "adRssi", "adEvt",
    "hostapd", "hapdCtrl", "hapdMsg", "hapdSta", "hapdEvt", "ident", "secur", "mcs", "rrm",
    "table", "tblRow", "tblPoll", "tblGen", "tblEnd", "dm", "dmTrans", "dmParam", "dmObj",
    "dmPath", "dmEvt", "dmSub", "dmType", "dmRead", "rpc", "rpcConn", "rpcReq", "rpcReply",
    "rpcFull", "rpcBrief", "http", "metrics", "cost", "mon",
];

/// Names with levels, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zones {
    list: Vec<(Box<str>, Level)>,
}

impl Zones {
    /// All zones of the daemon and the fall-back zone, at one level.
    pub fn of_the_daemon(level: Level) -> Self {
        let names = ZONES.iter().chain([&ALL]);
        Self { list: names.map(|name| (Box::from(*name), level)).collect() }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The level of a zone that is in the list.
    #[inline]
    pub fn level(&self, zone: &str) -> Option<Level> {
        self.list.iter().find(|(name, _)| &**name == zone).map(|(_, level)| *level)
    }

    pub(super) fn levels(&self) -> impl Iterator<Item = Level> {
        self.list.iter().map(|(_, level)| *level)
    }

    pub(super) fn add(&mut self, zone: &str, level: Level) {
        if !self.set(zone, level) {
            self.list.push((zone.into(), level));
        }
    }

    pub(super) fn remove(&mut self, zone: &str) -> bool {
        let before = self.list.len();
        self.list.retain(|(name, _)| &**name != zone);
        self.list.len() < before
    }

    pub(super) fn set(&mut self, zone: &str, level: Level) -> bool {
        let found = self.list.iter_mut().find(|(name, _)| &**name == zone);
        found.map(|(_, place)| *place = level).is_some()
    }

    pub(super) fn set_all(&mut self, level: Level) {
        self.list.iter_mut().for_each(|(_, place)| *place = level);
    }
}
