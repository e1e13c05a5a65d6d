//! Whose a ready descriptor or a moment of the queue is, in the 64 bits that the kernel keeps for us.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// The pipe that signals are told through.
    Signal,
    Engine,
    /// The door of the requests.
    RpcListener,
    /// The door of the metrics.
    HttpListener,
    Broker,
    /// A consumer, by its place.
    Rpc(u32),
    /// A scraper, by its place.
    Http(u32),
}

impl Token {
    pub fn number(self) -> u64 {
        let (kind, place) = match self {
            Self::Signal => (0, 0),
            Self::Engine => (1, 0),
            Self::RpcListener => (2, 0),
            Self::HttpListener => (3, 0),
            Self::Rpc(place) => (4, place),
            Self::Http(place) => (5, place),
            Self::Broker => (6, 0),
        };
        kind << 32 | u64::from(place)
    }

    /// Of a number that [`Token::number`] made.
    pub fn of(number: u64) -> Option<Self> {
        let place = number as u32;
        Some(match number >> 32 {
            0 => Self::Signal,
            1 => Self::Engine,
            2 => Self::RpcListener,
            3 => Self::HttpListener,
            4 => Self::Rpc(place),
            5 => Self::Http(place),
            6 => Self::Broker,
            _ => return None,
        })
    }
}
