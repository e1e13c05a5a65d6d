//! An associated device: what the driver says of it, and how that is written to its object in the data model.
//!
//! Names, types and order of the 86 parameters are the field's, and so is which of them are volatile and which are written in a
//! transaction. What the driver does not know is 0 or empty, as it is there; hostapd is not asked.

use std::{collections::LinkedList, sync::LazyLock};

use linux::{
    nl80211::{Address, Rate, StationReading},
    system::boottime_ns,
};

use crate::{
    access_point::Settings,
    object::{Attribute, DataModel, Fault, ObjectId, Param},
    transaction::Transaction,
    variant::Variant,
};

/// The parameters in their order: type (`b`, `i`, `u`, `s`), how it is written, and name. A `.` is written in a transaction and
/// an `=` is volatile and set by itself; `*` and `+` are both, and the first volatile; `w` is volatile and in the transaction.
const PARAMETERS: &str = "s.ChargeableUserId s.MACAddress b.AuthenticationState u=LastDataDownlinkRate \
u=LastDataUplinkRate i=SignalStrength s=SignalStrengthHistory s=SignalStrengthByChain s=NoiseByChain \
i=AvgSignalStrengthByChain i+AvgSignalStrength u=Retransmissions b.Active i=SignalNoiseRatio i=Noise u=Inactive \
u=RxPacketCount u=TxPacketCount u=RxUnicastPacketCount u=TxUnicastPacketCount u=RxMulticastPacketCount \
u=TxMulticastPacketCount u=TxBytes u=RxBytes u=TxErrors u=Rx_Retransmissions u=Rx_RetransmissionsFailed \
u=Tx_Retransmissions u=Tx_RetransmissionsFailed u=RetryCount u=MultipleRetryCount u=UplinkMCS u=UplinkBandwidth \
b=UplinkShortGuard swUplinkRateSpec u=DownlinkMCS u=DownlinkBandwidth b=DownlinkShortGuard swDownlinkRateSpec \
u.MaxRxSpatialStreamsSupported u.MaxTxSpatialStreamsSupported u.MaxDownlinkRateSupported u*MaxDownlinkRateReached \
u.MaxUplinkRateSupported u=MaxUplinkRateReached s.MaxBandwidthSupported s.OperatingStandard b=PowerSave s.Capabilities \
s.VendorCapabilities u=ConnectionDuration s.DeviceType u.DevicePriority s.LastStateChange s.AssociationTime \
s.DisassociationTime u.MUGroupId u.MUUserPositionId u=RxErrors u=MUMimoTxPktsCount u=MUMimoTxPktsPercentage \
s.SupportedMCS s.SupportedHtMCS s.RxSupportedVhtMCS s.TxSupportedVhtMCS s.RxSupportedHeMCS s.TxSupportedHeMCS \
s.RxSupportedHe160MCS s.TxSupportedHe160MCS s.RxSupportedHe80x80MCS s.TxSupportedHe80x80MCS s.VendorOUI \
s.SecurityModeEnabled s.LinkBandwidth s.EncryptionMode s.HtCapabilities s.VhtCapabilities s.HeCapabilities \
s.EhtCapabilities s.MLOMode u.ActiveNumberOfAffiliatedSta s.RrmCapabilities u.RrmOnChannelMaxDuration \
u.RrmOffChannelMaxDuration s.FrequencyCapabilities s.UNIIBandsCapabilities";
#[rustfmt::skip]
const BRIEF: [&str; 14] = [
    "MACAddress", "TxBytes", "RxBytes", "TxErrors", "RxErrors", "TxPacketCount", "RxPacketCount", "TxUnicastPacketCount",
    "Tx_Retransmissions", "LastDataDownlinkRate", "LastDataUplinkRate", "DownlinkBandwidth", "SignalNoiseRatio",
    "SignalStrength",
];

/// Each parameter's type, how it is written, and its name.
static WORDS: LazyLock<Vec<[&str; 3]>> = LazyLock::new(|| {
    PARAMETERS.split(' ').map(|word| [&word[..1], &word[1..2], &word[2..]]).collect()
});

/// The parameters of the template that all associated devices are instances of.
pub(crate) fn parameters() -> LinkedList<Param> {
    let attributes = [Attribute::Instance, Attribute::ReadOnly, Attribute::Volatile];
    let param = |[kind, written, name]: &[&str; 3]| {
        let count = if "=*w".contains(written) { 3 } else { 2 };
        let mut param = Param::new(name, unknown(kind), &attributes[..count]);
        param.checks.extend(name.contains("SignalStrength").then_some(-200..=0));
        param
    };
    WORDS.iter().map(param).collect()
}

fn unknown(kind: &str) -> Variant {
    match kind {
        "b" => Variant::Bool(false),
        "i" => Variant::Int(0),
        "u" => Variant::Uint(0),
        _ => Variant::text(""),
    }
}

#[derive(Debug)]
pub(crate) struct AssociatedDevice {
    pub(crate) object: ObjectId,
    pub(crate) index: u32,
    pub(crate) address: Address,
    pub(crate) reading: StationReading,
    pub(crate) noise: Option<i64>,
    /// When it was read last, when what was read then was written, and when it associated; ns since boot.
    pub(crate) last_sample_ns: u64,
    last_sample_sync_ns: u64,
    state_change_ns: u64,
    /// The least and the highest strength of the association, dBm, the sum of all, and how many there were.
    history: [i64; 4],
}

impl AssociatedDevice {
    pub(crate) fn new(object: ObjectId, index: u32, address: Address) -> Self {
        Self {
            object,
            index,
            address,
            reading: StationReading::default(),
            noise: None,
            last_sample_ns: 0,
            last_sample_sync_ns: 0,
            state_change_ns: boottime_ns(),
            history: [0, -200, 0, 0],
        }
    }

    /// Takes the last strength into the association's history.
    pub(crate) fn update_station_stats_history(&mut self) {
        let [least, most, sum, count] = self.history;
        let signal = self.reading.signal_dbm.map_or(0, i64::from);
        self.history = [least.min(signal), most.max(signal), sum + signal, count + 1];
    }

    /// Writes what a transaction writes: 48 parameters, of which nearly all are the same for the whole association.
    #[inline(never)]
    pub(crate) fn sync_info(
        &mut self,
        model: &mut DataModel,
        settings: &Settings,
    ) -> Result<(), Fault> {
        let mut transaction = Transaction::new(model, self.object);
        let (sampled, synced) = (self.last_sample_ns, self.last_sample_sync_ns);
        // As it was found, the gate compares the times of two samples, and so is always open.
        let is_due = match settings.write_on_change {
            true => synced == 0 || self.state_change_ns >= synced,
            false => synced != sampled,
        };
        if is_due {
            settings
                .trace
                .info("ad", format_args!("setting info of sta mac {:02x?}", self.address));
            for [kind, _, name] in WORDS.iter().filter(|[_, written, _]| ".*+w".contains(written)) {
                transaction.set(name, &self.value(name).unwrap_or_else(|| unknown(kind)));
            }
            finalize_transaction(transaction, model)?;
        }
        self.last_sample_sync_ns = sampled;
        Ok(())
    }

    /// Sets the 40 parameters that are no transaction's, one by one, and no one hears of it.
    #[inline(never)]
    pub(crate) fn sync_stats(&self, model: &mut DataModel) {
        for [kind, _, name] in WORDS.iter().filter(|[_, written, _]| "=*+".contains(written)) {
            let value = self.value(name).unwrap_or_else(|| unknown(kind));
            model.set_param(self.object, name, &value);
        }
    }

    /// Fourteen values, from what was read; nothing is asked of the data model.
    #[inline(never)]
    pub(crate) fn brief(&self) -> Variant {
        let mut values = Variant::map();
        BRIEF.iter().for_each(|name| values.set(name, self.value(name).unwrap_or_default()));
        values
    }

    fn value(&self, name: &str) -> Option<Variant> {
        let (reading, [least, most, sum, count]) = (&self.reading, self.history);
        let uint = |value: Option<u32>| value.map(|value| Variant::Uint(u64::from(value)));
        let mhz = |rate: Option<Rate>| uint(rate.map(|rate| u32::from(rate.width_mhz)));
        let spec = |rate: Rate| Variant::Text(format!("{:?}_{}", rate.mode, rate.width_mhz));
        let average = reading.signal_average_dbm.map(i64::from);
        match name {
            "MACAddress" => {
                let bytes = self.address.map(|byte| format!("{byte:02X}"));
                Some(Variant::Text(bytes.join(":")))
            }
            "AuthenticationState" => reading.flags.map(|flags| Variant::Bool(flags.authorised())),
            "Active" => Some(Variant::Bool(true)),
            "LastStateChange" | "AssociationTime" => {
                Some(Variant::Text(format!("{:019}Z", self.state_change_ns)))
            }
            "UplinkRateSpec" => reading.rx_rate.map(spec),
            "DownlinkRateSpec" => reading.tx_rate.map(spec),
            "ConnectionDuration" => uint(reading.connected_s),
            "Inactive" => uint(reading.inactive_ms.map(|ms| ms / 1000)),
            "LastDataUplinkRate" => uint(reading.rx_rate.and_then(|rate| rate.kbps)),
            "LastDataDownlinkRate" => uint(reading.tx_rate.and_then(|rate| rate.kbps)),
            "UplinkBandwidth" => mhz(reading.rx_rate),
            "DownlinkBandwidth" => mhz(reading.tx_rate),
            "SignalStrength" => reading.signal_dbm.map(|dbm| Variant::Int(i64::from(dbm))),
            "SignalNoiseRatio" => reading
                .signal_dbm
                .zip(self.noise)
                .map(|(dbm, noise)| Variant::Int(i64::from(dbm) - noise)),
            "Noise" => self.noise.map(Variant::Int),
            "AvgSignalStrength" | "AvgSignalStrengthByChain" => average.map(Variant::Int),
            "SignalStrengthByChain" => {
                let chains = reading.chain_signal.iter().map(|(_, dbm)| format!("{dbm}.0"));
                Some(Variant::Text(chains.collect::<Vec<_>>().join(",")))
            }
            "SignalStrengthHistory" => {
                Some(Variant::Text(format!("{least},{most},{}", sum / count.max(1))))
            }
            "Tx_Retransmissions" => uint(reading.tx_retries),
            "Tx_RetransmissionsFailed" | "TxErrors" => uint(reading.tx_failed),
            "RxErrors" => reading.rx_dropped.map(Variant::Uint),
            "RxPacketCount" => uint(reading.rx_packets),
            "TxPacketCount" | "TxUnicastPacketCount" => uint(reading.tx_packets),
            "TxBytes" => reading.tx_bytes.map(|count| Variant::Uint(count.value)),
            "RxBytes" => reading.rx_bytes.map(|count| Variant::Uint(count.value)),
            _ => None,
        }
    }
}

/// The end of each of the daemon's transactions.
#[inline(never)]
pub(crate) fn finalize_transaction(
    mut transaction: Transaction,
    model: &mut DataModel,
) -> Result<(), Fault> {
    // It is cleaned behind this, so that its frame stands in a flame graph.
    transaction.apply(model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Trace;

    fn device() -> (DataModel, AssociatedDevice) {
        let mut model = DataModel::default();
        let template = model.add(None, "AssociatedDevice");
        model.object_mut(template).unwrap().parameters = parameters();
        let object = model.add_instance(template, 1);
        let mut device = AssociatedDevice::new(object, 1, [2, 0, 0, 0, 1, 0xab]);
        (device.reading.signal_dbm, device.reading.tx_packets) = (Some(-40), Some(7));
        (model, device)
    }

    #[test]
    fn of_86_parameters_41_are_volatile_and_48_in_a_transaction() {
        let count =
            |marks: &str| WORDS.iter().filter(|[_, written, _]| marks.contains(written)).count();
        assert_eq!((count(".=*+w"), count("=*w"), count(".*+w"), count("=*+")), (86, 41, 48, 40));
    }

    #[test]
    fn each_poll_writes_all_and_on_change_what_is_new() {
        for (write_on_change, written) in [(false, 4), (true, 2)] {
            let (mut model, mut device) = device();
            let settings = Settings { write_on_change, trace: Trace::gate() };
            for poll in 1..=4 {
                device.last_sample_ns = device.state_change_ns + poll;
                // A value that only the transaction writes shows that it was written.
                device.address[0] = poll as u8;
                if poll == 4 {
                    device.state_change_ns = device.last_sample_ns;
                }
                device.sync_info(&mut model, &settings).unwrap();
            }
            assert_eq!(model.signals.len(), written);
        }
    }

    #[test]
    fn the_full_reply_has_the_values_of_the_brief_one() {
        let (mut model, mut device) = device();
        (device.noise, device.last_sample_ns) = (Some(-90), 1);
        let settings = Settings { write_on_change: true, trace: Trace::gate() };
        device.sync_info(&mut model, &settings).unwrap();
        device.sync_stats(&mut model);
        let (full, brief) = (model.get_object_params(device.object, 0).unwrap(), device.brief());
        assert_eq!((full.entries().count(), brief.entries().count()), (86, 14));
        for entry in brief.entries().filter(|entry| entry.value != Variant::Null) {
            assert_eq!(full.get(&entry.key), Some(&entry.value), "{}", entry.key);
        }
        assert_eq!(full.get("SignalNoiseRatio"), Some(&Variant::Int(50)));
        assert_eq!(full.get("MACAddress"), Some(&Variant::text("02:00:00:00:01:AB")));
    }
}
