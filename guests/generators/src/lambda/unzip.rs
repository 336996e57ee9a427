//! Archives: files, stored or in blocks that are not compressed, and their directory.

use sandglass_sdk::{one_of, span, structure, value};

use super::{Cloud, key, text};

/// For the handler that unpacks archives.
pub fn unzip() -> Vec<u8> {
    let cloud = Cloud::of_files(|| (key(".zip"), archive()));
    cloud.into_bytes()
}

fn archive() -> Vec<u8> {
    let _span = span!("ZipArchive");
    let (mut bytes, mut directory, mut count) = (Vec::new(), Vec::new(), 0_u16);
    for _ in structure!().repeat_while(0..=20, 3, 4) {
        let _span = span!("ZipFile");
        let at = bytes.len() as u32;
        let header = file(&mut bytes);
        directory.extend(b"PK\x01\x02");
        directory.extend(20_u16.to_le_bytes());
        directory.extend(&header.fields);
        directory.extend([0; 2]);
        directory.extend([0; 4]);
        directory.extend(
            one_of!(value!(); 7 => 0o100_644_u32 << 16, 1 => value!().int::<u32>(..)).to_le_bytes(),
        );
        directory.extend(at.to_le_bytes());
        directory.extend(&header.name);
        count += 1;
    }
    let comment = one_of!(structure!(); 3 => String::new(), 1 => text()).into_bytes();
    let start = bytes.len() as u32;
    let size = directory.len() as u32;
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend((comment.len() as u16).to_le_bytes());
    bytes.extend(comment);
    bytes
}

/// What the directory repeats of a file's own header.
struct Header {
    fields: Vec<u8>,
    name: Vec<u8>,
}

/// Writes a file.
fn file(bytes: &mut Vec<u8>) -> Header {
    let name = name().into_bytes();
    let body = body();
    let flags = one_of!(value!(); 12 => 0_u16, 2 => 0x800, 1 => 1, 1 => value!().int::<u16>(..));
    let (method, packed) = one_of!(structure!();
        4 => (0_u16, body.clone()),
        4 => (8, deflate_stored(&body)),
        1 => (value!().int(0..=99), body.clone()));
    let sum = if value!().chance(15, 16) {
        crc32(&body)
    } else {
        value!().int(..)
    };
    let size = if value!().chance(15, 16) {
        body.len() as u32
    } else {
        value!().int(0..=100_000)
    };
    let mut fields = Vec::new();
    for half in [20, flags, method, value!().int(..), value!().int(..)] {
        fields.extend(half.to_le_bytes());
    }
    for word in [sum, packed.len() as u32, size] {
        fields.extend(word.to_le_bytes());
    }
    fields.extend((name.len() as u16).to_le_bytes());
    fields.extend([0; 2]);
    bytes.extend(b"PK\x03\x04");
    bytes.extend(&fields);
    bytes.extend(&name);
    bytes.extend(packed);
    Header { fields, name }
}

fn name() -> String {
    let _span = span!("Unpacked");
    let folder = one_of!(structure!(); 6 => String::new(), 2 => "docs/".to_owned(), 1 => "../".to_owned(), 1 => text());
    let ending = one_of!(structure!(); 2 => ".txt".to_owned(), 1 => "/".to_owned(), 3 => format!(".{}", text()));
    format!("{folder}f{}{ending}", value!().int(0..=9))
}

fn body() -> Vec<u8> {
    one_of!(structure!();
        text().into_bytes(),
        [text(), text()].concat().into_bytes(),
        value!().bytes(0, 40))
}

/// A deflated stream of one block that is not compressed.
pub(super) fn deflate_stored(data: &[u8]) -> Vec<u8> {
    let length = data.len() as u16;
    let mut stream = vec![1];
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    stream.extend(&data[..usize::from(length)]);
    stream
}

pub(super) fn crc32(data: &[u8]) -> u32 {
    let mut sum = !0_u32;
    for byte in data {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = sum >> 1 ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_zip() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
