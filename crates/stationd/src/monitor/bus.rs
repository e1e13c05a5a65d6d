//! stationd on ubus, as a consumer has it: prplOS's two methods at each access point's object, one call after the other.
//!
//! The connection is `ubus-zero`'s, which waits for a reply; what a reply means is read here. It offers no object.

use std::{io, path::Path, time::Duration};

use serde::Deserialize;
use serde_json::Value as Json;
use ubus::{BlobMsgTable, BlobValue, UbusError, client::UbusClient, unix::UnixUbusTransport};

use super::{
    flags::Reply,
    reply::{Brief, Full, Got, Object, Station},
    socket::in_short,
};
use crate::ubus::blobmsg::Reader;

/// The broker and stationd answer within this, or not at all.
const PATIENCE: Duration = Duration::from_secs(5);
/// The objects' paths without their numbers: beside the field's daemons, or in their place.
const PATHS: [&str; 2] = ["stationd.WiFi.AccessPoint.*", "WiFi.AccessPoint.*"];
/// Tables and lists within each other in a reply; a deeper one is none of stationd's.
const DEEPEST: u32 = 9;

pub(super) type Client = UbusClient<UnixUbusTransport>;

/// A connection to the broker.
pub(super) struct Bus {
    client: Option<Client>,
    paths: Vec<String>,
    /// The objects' numbers at this broker.
    objects: Vec<u32>,
    reply: Reply,
}

impl std::fmt::Debug for Bus {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Bus").field("paths", &self.paths).finish_non_exhaustive()
    }
}

/// The paths of stationd's access points.
///
/// # Errors
///
/// No broker is there, or it has no such object.
pub(super) fn access_points(socket: &Path) -> io::Result<Vec<String>> {
    let mut client = connected(socket)?;
    for pattern in PATHS {
        let objects = client.lookup_objects(Some(pattern)).or_else(|error| match error {
            // Nothing of that name.
            UbusError::Status(4) => Ok(Vec::new()),
            error => Err(failed(error)),
        })?;
        if !objects.is_empty() {
            return Ok(objects.into_iter().map(|object| object.path).collect());
        }
    }
    let why = format!("no object {} at the broker", PATHS.join(" nor "));
    Err(io::Error::new(io::ErrorKind::NotFound, why))
}

impl Bus {
    /// One that calls these objects, and is not connected yet.
    pub(super) fn new(paths: &[String], reply: Reply) -> Self {
        Self { client: None, paths: paths.to_vec(), objects: Vec::new(), reply }
    }

    /// Connects, unless it is connected, and finds its objects.
    ///
    /// # Errors
    ///
    /// No broker is there, or it lacks an object.
    pub(super) fn connect(&mut self, socket: &Path) -> io::Result<()> {
        if self.client.is_some() {
            return Ok(());
        }
        let mut client = connected(socket)?;
        let find = |path: &String| client.lookup(path).map_err(failed);
        self.objects = self.paths.iter().map(find).collect::<io::Result<_>>()?;
        self.client = Some(client);
        Ok(())
    }

    /// Calls each object: the stations of each access point, by its place, or what is wrong with its reply. After a
    /// call that fails there are no more.
    pub(super) fn hear(
        &mut self,
        got: &mut Got,
        mut each: impl FnMut(usize, Result<&[Station<'_>], String>),
    ) {
        let which = self.reply;
        let mut stations = 0;
        self.hear_whole(got, |place, heard| {
            let heard =
                heard.map(|objects| objects.into_iter().map(Json::Object).collect::<Vec<_>>());
            let read = heard.as_deref().map_err(Clone::clone).and_then(|objects| match which {
                Reply::Brief => read::<Brief<'_>>(objects).map(in_short),
                Reply::Full => read::<Full<'_>>(objects).map(in_short),
            });
            stations += read.as_ref().map_or(0, Vec::len) as u64;
            each(place, read.as_deref().map_err(Clone::clone));
        });
        got.stations += stations;
    }

    /// As [`Self::hear`], but each station with all that was told of it.
    pub(super) fn hear_whole(
        &mut self,
        got: &mut Got,
        mut each: impl FnMut(usize, Result<Vec<Object>, String>),
    ) {
        for place in 0..self.objects.len() {
            match self.call(place) {
                Ok(contents) => {
                    got.polls += 1;
                    got.bytes += contents.len() as u64;
                    each(place, stations(&contents));
                }
                Err(error) => {
                    self.client = None;
                    return each(place, Err(format!("no answer: {error}")));
                }
            }
        }
    }

    /// The first message of a reply, which has the method's value.
    fn call(&mut self, place: usize) -> io::Result<Vec<u8>> {
        let client = self.client.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        client.transport_mut().set_deadline(Some(PATIENCE));
        let (object, method) = (self.objects[place], self.reply.method());
        let replies = client.invoke_many(object, method, &BlobMsgTable::empty()).map_err(failed)?;
        replies.into_iter().next().ok_or_else(|| io::Error::other("a reply without a message"))
    }
}

/// Connects to the broker.
///
/// # Errors
///
/// No one is there, or it does not greet.
pub(super) fn connected(socket: &Path) -> io::Result<Client> {
    let path = socket.to_str().ok_or(io::ErrorKind::InvalidInput)?;
    let mut transport = UnixUbusTransport::connect(path).map_err(failed)?;
    transport.set_deadline(Some(PATIENCE));
    UbusClient::connect(transport).map_err(failed)
}

fn failed(error: UbusError) -> io::Error {
    io::Error::other(error.to_string())
}

fn read<'a, S: Deserialize<'a>>(objects: &'a [Json]) -> Result<Vec<S>, String> {
    objects.iter().map(|object| S::deserialize(object).map_err(|error| error.to_string())).collect()
}

/// The stations of a reply: the tables in its list `retval`.
fn stations(contents: &[u8]) -> Result<Vec<Object>, String> {
    let object = |value| match value {
        Json::Object(object) => Ok(object),
        other => Err(format!("a station that is no table: {other}")),
    };
    let mut values = within(contents, DEEPEST)?.into_iter();
    match values.find(|(name, _)| name == "retval") {
        Some((_, Json::Array(values))) => values.into_iter().map(object).collect(),
        Some((_, other)) => Err(format!("`retval` is no list: {other}")),
        None => Err("a reply without `retval`".to_owned()),
    }
}

/// The values in the contents of a table or list, with their names.
fn within(contents: &[u8], deeper: u32) -> Result<Vec<(String, Json)>, String> {
    let deeper = deeper.checked_sub(1).ok_or("tables within tables, without end")?;
    let (mut all, mut read) = (Reader::new(contents), Vec::new());
    while let Some((name, value)) = all.next().map_err(|error| error.to_string())? {
        read.push((name.to_owned(), json(&value, deeper)?));
    }
    Ok(read)
}

/// A value as JSON has it; blobmsg's bool is a number of eight bits.
fn json(value: &BlobValue<'_>, deeper: u32) -> Result<Json, String> {
    Ok(match *value {
        BlobValue::Table(bytes) => Json::Object(within(bytes, deeper)?.into_iter().collect()),
        BlobValue::Array(bytes) => {
            within(bytes, deeper)?.into_iter().map(|(_, value)| value).collect()
        }
        BlobValue::String(text) => text.into(),
        BlobValue::Int8(value) => (value != 0).into(),
        BlobValue::Int32(value) => value.into(),
        BlobValue::Int64(value) => value.into(),
        BlobValue::Raw([]) => Json::Null,
        ref other => return Err(format!("a value of a type that no reply has: {other:?}")),
    })
}
