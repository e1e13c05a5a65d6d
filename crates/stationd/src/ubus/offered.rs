//! The objects that one broker knows, or is asked to know, brought in line with the access points that there are.
//!
//! Writes requests and takes what the broker says of them. It opens no socket, and answers no call.
//!
//! An object has no number until the broker has told it, and only a number can be removed. So one that is not wanted
//! any more while its request is on the way stays here until the answer comes.

use super::{
    frame,
    objects::{self, Subject},
};
use crate::points::Points;

/// An object that the broker knows, or is asked to know.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) subject: Subject,
    path: String,
    seq: u16,
    /// Whether the broker has not answered that yet.
    is_pending: bool,
    /// Its number there; `None` until the broker has said so, and where it has refused.
    pub(super) id: Option<u32>,
    pub(super) has_subscribers: bool,
}

#[derive(Debug, Default)]
pub(super) struct Offered {
    objects: Vec<Object>,
    seq: u16,
    /// The version of the access points that the objects are of.
    version: Option<u32>,
    /// Whether an object that is not wanted any more waits for its number.
    is_behind: bool,
}

impl Offered {
    fn next_seq(&mut self) -> u16 {
        self.seq = self.seq.wrapping_add(1);
        self.seq
    }

    /// Adds the objects that are missing, and removes those whose access point is gone or has another name.
    pub(super) fn reconcile(&mut self, prefix: &str, points: &Points, out: &mut Vec<u8>) {
        let version = points.version;
        if self.version.replace(version) == Some(version) {
            return;
        }
        let wanted: Vec<_> = objects::all(points)
            .filter_map(|subject| Some((subject, subject.path(prefix, points)?)))
            .collect();
        for at in (0..self.objects.len()).rev() {
            let object = &self.objects[at];
            if wanted.iter().any(|(subject, path)| object.is(*subject, path)) {
                continue;
            }
            if object.is_pending {
                self.is_behind = true;
                continue;
            }
            let object = self.objects.swap_remove(at);
            let seq = self.next_seq();
            object.id.into_iter().for_each(|id| frame::remove_object(seq, id, out));
        }
        let mut signature = Vec::new();
        for (subject, path) in wanted {
            if self.objects.iter().any(|object| object.is(subject, &path)) {
                continue;
            }
            let seq = self.next_seq();
            signature.clear();
            subject.signature(&mut signature);
            frame::add_object(seq, &path, &signature, out);
            let (id, has_subscribers) = (None, false);
            self.objects.push(Object { subject, path, seq, is_pending: true, id, has_subscribers });
        }
    }

    /// The broker knows the object of this request, by this number.
    pub(super) fn added(&mut self, seq: u16, id: u32) {
        if let Some(object) = self.answered(seq) {
            object.id = Some(id);
        }
    }

    /// The broker does not take the object of this request: its path.
    pub(super) fn refused(&mut self, seq: u16) -> Option<&str> {
        self.answered(seq).map(|object| object.path.as_str())
    }

    fn answered(&mut self, seq: u16) -> Option<&mut Object> {
        let mut all = self.objects.iter_mut();
        let object = all.find(|object| object.is_pending && object.seq == seq)?;
        object.is_pending = false;
        if std::mem::take(&mut self.is_behind) {
            self.version = None;
        }
        Some(object)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter()
    }

    pub(super) fn numbered(&mut self, id: u32) -> Option<&mut Object> {
        self.objects.iter_mut().find(|object| object.id == Some(id))
    }
}

impl Object {
    fn is(&self, subject: Subject, path: &str) -> bool {
        self.subject == subject && self.path == path
    }
}

#[cfg(test)]
mod tests {
    use ubus::{
        MsgType,
        envelope::{UbusAttr, find},
        wire::Codec,
    };

    use super::*;
    use crate::points::tests::access_point;

    /// The broker's side, and the access points.
    #[derive(Default)]
    struct Broker {
        offered: Offered,
        points: Points,
    }

    impl Broker {
        /// There are access points of these names and numbers now. What the broker is asked: the number of the request,
        /// and the path to add or the object to remove.
        fn with(&mut self, names: &[(&str, u32)]) -> Vec<(u16, String)> {
            let interfaces = names.iter().map(|(name, index)| access_point(*index, name));
            self.points.update(&interfaces.collect::<Vec<_>>());
            self.asked()
        }

        fn asked(&mut self) -> Vec<(u16, String)> {
            let mut bytes = Vec::new();
            self.offered.reconcile("", &self.points, &mut bytes);
            let (mut rest, mut all) = (&bytes[..], Vec::new());
            while !rest.is_empty() {
                let (frame, length) = Codec::read_frame_borrowed(rest).unwrap();
                let find = |attribute| find(frame.payload, attribute).unwrap();
                let what = match frame.hdr.ty {
                    MsgType::AddObject => find(UbusAttr::ObjPath).as_str().unwrap().to_owned(),
                    MsgType::RemoveObject => {
                        format!("-{}", find(UbusAttr::ObjId).as_u32().unwrap())
                    }
                    other => panic!("{other:?}"),
                };
                all.push((frame.hdr.seq, what));
                rest = &rest[length..];
            }
            all
        }

        /// The objects that the broker is asked to remove.
        fn removed(&mut self) -> Vec<String> {
            let asked = self.asked().into_iter().map(|(_, what)| what);
            asked.filter(|what| what.starts_with('-')).collect()
        }
    }

    fn seq_of(all: &[(u16, String)], path: &str) -> u16 {
        all.iter().find(|(_, what)| what == path).unwrap().0
    }

    #[test]
    fn an_object_that_went_while_its_request_was_on_the_way_is_removed_when_its_number_comes() {
        let mut broker = Broker::default();
        let first = broker.with(&[("wlan0", 3)]);
        assert_eq!(first.len(), 4, "{first:?}");
        let seq = seq_of(&first, "hostapd.wlan0");
        assert_eq!(broker.with(&[]), []);
        broker.offered.added(seq, 77);
        let second = broker.asked();
        let [(removal, what)] = &second[..] else { panic!("{second:?}") };
        assert_eq!(what, "-77");
        assert!(broker.offered.numbered(77).is_none());
        // The broker's answer to that names the object, too.
        broker.offered.added(*removal, 77);
        assert!(broker.offered.numbered(77).is_none());
        broker.offered.added(seq_of(&first, "WiFi.AccessPoint.1"), 78);
        assert_eq!(broker.removed(), ["-78"]);
        assert_eq!(broker.offered.iter().count(), 2, "those of the machine");
    }

    #[test]
    fn an_access_point_that_is_back_before_the_answer_keeps_its_object() {
        let mut broker = Broker::default();
        let first = broker.with(&[("wlan0", 3)]);
        assert_eq!(broker.with(&[]), []);
        assert_eq!(broker.with(&[("wlan0", 4)]), []);
        broker.offered.added(seq_of(&first, "hostapd.wlan0"), 77);
        assert_eq!(broker.asked(), []);
        assert!(broker.offered.numbered(77).is_some());
    }

    #[test]
    fn a_renamed_access_point_gets_another_object_at_once_and_loses_the_old_one_later() {
        let mut broker = Broker::default();
        let first = broker.with(&[("wlan0", 3)]);
        let second = broker.with(&[("ap24", 3)]);
        assert_eq!((second.len(), second[0].1.as_str()), (1, "hostapd.ap24"));
        broker.offered.added(seq_of(&first, "hostapd.wlan0"), 77);
        assert_eq!(broker.removed(), ["-77"]);
    }

    #[test]
    fn an_object_that_was_refused_is_not_waited_for() {
        let mut broker = Broker::default();
        let first = broker.with(&[("wlan0", 3)]);
        let seq = seq_of(&first, "hostapd.wlan0");
        assert_eq!(broker.offered.refused(seq), Some("hostapd.wlan0"));
        assert_eq!(broker.offered.refused(seq), None, "once");
        broker.offered.added(seq_of(&first, "WiFi.AccessPoint.1"), 78);
        let last = broker.with(&[]);
        assert_eq!((last.len(), last[0].1.as_str()), (1, "-78"));
        assert_eq!(broker.offered.iter().count(), 2);
    }
}
