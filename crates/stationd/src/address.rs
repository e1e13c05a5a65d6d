//! Hardware addresses as text, six bytes in hexadecimal with colons between.
//!
//! Upper case is how the field's full reply writes them, lower case how hostapd and node_exporter do; both
//! are read. Pure, and without a heap.

use linux::nl80211::Address;

pub type AddressText = [u8; 17];

pub fn upper(address: Address) -> AddressText {
    written(address, b"0123456789ABCDEF")
}

pub fn lower(address: Address) -> AddressText {
    written(address, b"0123456789abcdef")
}

fn written(address: Address, digits: &[u8; 16]) -> AddressText {
    let mut text = [b':'; 17];
    for (byte, place) in address.iter().zip(text.chunks_mut(3)) {
        place[0] = digits[usize::from(byte >> 4)];
        place[1] = digits[usize::from(byte & 15)];
    }
    text
}

/// The address that a text is, in either case; two digits for each byte, and nothing around them.
pub fn parse(text: &str) -> Option<Address> {
    let mut address = Address::default();
    let mut parts = text.split(':');
    for byte in &mut address {
        let part = parts.next().filter(|part| part.len() == 2)?;
        // A number may have a sign; a byte of an address has none.
        let is_hexadecimal = part.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = u8::from_str_radix(part, 16).ok().filter(|_| is_hexadecimal)?;
    }
    parts.next().is_none().then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_gets_its_own_case_and_both_are_read() {
        let address = [2, 0, 0xAB, 0xCD, 0xEF, 0xFF];
        assert_eq!(&upper(address), b"02:00:AB:CD:EF:FF");
        assert_eq!(&lower(address), b"02:00:ab:cd:ef:ff");
        for text in ["02:00:AB:CD:EF:FF", "02:00:ab:cd:ef:ff"] {
            assert_eq!(parse(text), Some(address), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_none() {
        for wrong in ["", "02:00:00:00:01", "02:00:00:00:01:0A:00", "02:00:00:00:01:+A", "x"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
