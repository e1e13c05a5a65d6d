//! The numbers of samples, as both formats write them.
//!
//! Numbers are whole numbers with a decimal point somewhere, so that nothing is rounded and no float is
//! formatted. Pure.

/// A number with a fixed count of decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    digits: i64,
    decimals: u8,
}

impl Number {
    pub fn whole(value: i64) -> Self {
        Self { digits: value, decimals: 0 }
    }

    /// A count; what an `i64` cannot hold is not reached in a machine's life.
    pub fn count(value: u64) -> Self {
        Self::whole(i64::try_from(value).unwrap_or(i64::MAX))
    }

    pub fn from_ms(ms: i64) -> Self {
        Self { digits: ms, decimals: 3 }
    }

    pub fn from_us(us: u64) -> Self {
        Self { decimals: 6, ..Self::count(us) }
    }

    pub fn write(self, out: &mut Vec<u8>) {
        let unit = 10_u64.pow(self.decimals.into());
        if self.digits < 0 {
            out.push(b'-');
        }
        let digits = self.digits.unsigned_abs();
        out.extend_from_slice(itoa::Buffer::new().format(digits / unit).as_bytes());
        if self.decimals > 0 {
            let mut buffer = itoa::Buffer::new();
            let part = buffer.format(digits % unit).as_bytes();
            out.push(b'.');
            out.resize(out.len() + usize::from(self.decimals) - part.len(), b'0');
            out.extend_from_slice(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: Number) -> String {
        let mut out = Vec::new();
        number.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_keep_every_digit() {
        assert_eq!(text(Number::whole(-40)), "-40");
        assert_eq!(text(Number::count(u64::MAX)), "9223372036854775807");
        assert_eq!(text(Number::from_ms(4150)), "4.150");
        assert_eq!(text(Number::from_ms(-1)), "-0.001");
        assert_eq!(text(Number::from_us(1_000_007)), "1.000007");
    }
}
