//! The access points and their stations: how they are pulled from the driver, and how a reply is made.
//!
//! The functions are called as those of the field report are, so that a flame graph reads like its tower:
//! `get_station_stats` → `add_sta_stats_values` → `sync_assoclist` → `sync_info` → `finalize_transaction`.

use std::collections::LinkedList;

use linux::{
    netlink,
    nl80211::{Interface, InterfaceKind, Membership, Mlme, Nl80211},
    system::boottime_ns,
};

use crate::{
    object::{Attribute, DataModel, Fault, ObjectId, Param},
    station::{self, AssociatedDevice, finalize_transaction},
    trace::Trace,
    transaction::Transaction,
    variant::Variant,
};

/// The parameters of an access point's object, in their order.
const PARAMETERS: &str = "Status Alias CustomAlias Index RadioReference SSIDReference SSIDAdvertisementEnabled RetryLimit \
WMMCapability UAPSDCapability WMMEnable UAPSDEnable MCEnable APBridgeDisable BridgeInterface DefaultDeviceType \
IEEE80211kEnabled Enable WDSEnable MBOEnable MBOAssocDisallowReason MultiAPType MultiAPProfile MultiAPVlanId ApRole \
ReferenceApRelay CpeOperationMode MACFilterAddressList MACAddressControlEnabled StaInactivityTimeout MaxAssociatedDevices \
IsolationEnable ActiveAssociatedDeviceNumberOfEntries ActiveVideoAssociatedDeviceNumberOfEntries \
AssociatedDeviceNumberOfEntries";

#[derive(Debug)]
pub(crate) struct Settings {
    /// Whether a station's 48 parameters are written once for each association; else at each poll.
    pub(crate) write_on_change: bool,
    pub(crate) trace: Trace,
}

#[derive(Debug)]
struct AccessPoint {
    interface: Interface,
    object: ObjectId,
    template: ObjectId,
    devices: Vec<AssociatedDevice>,
    last_index: u32,
}

#[derive(Debug)]
pub(crate) struct Wld {
    settings: Settings,
    kernel: Nl80211,
    pub(crate) events: Mlme,
    pub(crate) model: DataModel,
    points: Vec<AccessPoint>,
}

impl Wld {
    /// Takes up the access points that there are, with their stations.
    pub(crate) fn open(settings: Settings) -> Result<Self, netlink::Error> {
        let (mut kernel, events) = (Nl80211::open()?, Mlme::open()?);
        let (mut model, mut points) = (DataModel::default(), Vec::new());
        let root = model.add(None, "WiFi");
        let template = model.add(Some(root), "AccessPoint");
        let attributes = [Attribute::Instance, Attribute::ReadOnly];
        let param = |name| Param::new(name, Variant::Uint(0), &attributes);
        if let Some(object) = model.object_mut(template) {
            object.parameters = PARAMETERS.split(' ').map(param).collect();
        }
        let mut interfaces = kernel.interfaces()?;
        interfaces.retain(|one| one.kind == InterfaceKind::AccessPoint);
        interfaces.sort_by(|one, other| one.name.cmp(&other.name));
        for (index, interface) in (1..).zip(interfaces) {
            let object = model.add_instance(template, index);
            let template = model.add(Some(object), "AssociatedDevice");
            if let Some(object) = model.object_mut(template) {
                object.parameters = station::parameters();
            }
            let devices = Vec::new();
            points.push(AccessPoint { interface, object, template, devices, last_index: 0 });
        }
        let mut wld = Self { settings, kernel, events, model, points };
        wld.follow()?;
        Ok(wld)
    }

    pub(crate) fn access_points(&self) -> Variant {
        let named = |point: &AccessPoint| {
            let mut named = Variant::map();
            named.set("name", Variant::text(&point.interface.name));
            named
        };
        Variant::List(self.points.iter().map(named).collect())
    }

    /// Takes note of who came and who left: whoever has associated anew is another device.
    pub(crate) fn follow(&mut self) -> Result<(), netlink::Error> {
        let (mut joined, model) = (Vec::new(), &mut self.model);
        // Events that were lost are found out by the dump that follows.
        let _ = self.events.read(|event| {
            if let Membership::Joined(one) = event {
                joined.push(one.address);
            }
        });
        for point in &mut self.points {
            let mut present = Vec::new();
            self.kernel.stations(point.interface.index, |one| present.push(one.address))?;
            point.devices.retain(|one| {
                let stays = present.contains(&one.address) && !joined.contains(&one.address);
                if !stays {
                    model.delete(one.object);
                }
                stays
            });
            present.retain(|address| point.devices.iter().all(|one| one.address != *address));
            for address in present {
                point.last_index += 1;
                let object = model.add_instance(point.template, point.last_index);
                point.devices.push(AssociatedDevice::new(object, point.last_index, address));
            }
        }
        Ok(())
    }

    /// Pulls the stations of an access point, writes them to the data model, and makes the reply: a list of the return values, of
    /// which the first is the list of stations, each with all its parameters or with fourteen values.
    #[inline(never)]
    pub(crate) fn get_station_stats(&mut self, interface: &str, is_brief: bool) -> Option<Variant> {
        let number = self.points.iter().position(|one| one.interface.name == interface)?;
        self.settings.trace.info("wldAp", format_args!("pAP = {number}"));
        for device in 0..self.points[number].devices.len() {
            self.get_single_station_stats(number, device).ok()?;
        }
        self.settings.trace.info("wldAp", format_args!("{interface}: sta stats"));
        Some(Variant::List([Variant::List(self.add_sta_stats_values(number, is_brief))].into()))
    }

    /// Asks the driver for one station, and for the noise of its channel.
    fn get_single_station_stats(
        &mut self,
        number: usize,
        device: usize,
    ) -> Result<(), netlink::Error> {
        let AccessPoint { interface, devices, .. } = &mut self.points[number];
        let (device, trace) = (&mut devices[device], &self.settings.trace);
        trace.info("genVap", format_args!("pAP->alias = {}", interface.name));
        trace.info("genVap", format_args!("pAD->Name = {:02x?}", device.address));
        trace.info("nlApi", format_args!("get station info of {:02x?}", device.address));
        trace.info("nlCore", format_args!("send request on {}", interface.name));
        let reading = self.kernel.station(interface.index, device.address)?;
        trace.info("nlCore", format_args!("got reply on {}", interface.name));
        trace.info("nlApi", format_args!("get survey of {}", interface.name));
        trace.info("nlCore", format_args!("send request on {}", interface.name));
        let mut noise = None;
        // A driver that keeps no survey knows no noise.
        let _ = self.kernel.survey(interface.index, |channel| {
            noise = noise.or(channel.noise_dbm.filter(|_| channel.in_use));
        });
        trace.info("nlCore", format_args!("got reply on {}", interface.name));
        if let Some(reading) = reading {
            trace.info("genStn", format_args!("fill in {:02x?}", device.address));
            (device.reading, device.noise) = (reading, noise.map(i64::from));
            device.last_sample_ns = boottime_ns();
        }
        Ok(())
    }

    /// The stations of the reply: as fourteen values, or with all that is read back from the data model.
    #[inline(never)]
    fn add_sta_stats_values(&mut self, number: usize, is_brief: bool) -> LinkedList<Variant> {
        let devices = self.points[number].devices.iter_mut();
        devices.for_each(AssociatedDevice::update_station_stats_history);
        // One that fails is written at the next poll.
        let _ = self.sync_assoclist(number);
        let mut stations = LinkedList::new();
        for device in &self.points[number].devices {
            if is_brief {
                stations.push_back(device.brief());
                continue;
            }
            let mut values = self.model.get_object_params(device.object, 0).unwrap_or_default();
            values.set("AffiliatedSta", Variant::List(LinkedList::new()));
            values.set("ObjectIndex", Variant::Uint(u64::from(device.index)));
            // A list takes a copy of what is put into it.
            stations.push_back(values.copy());
        }
        stations
    }

    /// Writes all stations of an access point to the data model, and how many they are.
    #[inline(never)]
    fn sync_assoclist(&mut self, number: usize) -> Result<(), Fault> {
        let (point, model) = (&mut self.points[number], &mut self.model);
        let count = point.devices.len();
        self.settings.trace.info("wldAp", format_args!("sync, there are {count} devices"));
        for device in &mut point.devices {
            device.sync_info(model, &self.settings)?;
            device.sync_stats(model);
        }
        let mut transaction = Transaction::new(model, point.object);
        transaction.set("AssociatedDeviceNumberOfEntries", &Variant::Uint(count as u64));
        transaction.set("ActiveAssociatedDeviceNumberOfEntries", &Variant::Uint(count as u64));
        finalize_transaction(transaction, model)
    }
}
