//! Photos with metadata: JPEG or TIFF around the directories of Exif.

use sandglass_sdk::{one_of, span, structure, value};

use super::{Cloud, key, text};

/// For the handler that keeps what is known of photos.
pub fn image_year() -> Vec<u8> {
    let cloud = Cloud::of_files(|| {
        let is_jpeg = structure!().boolean();
        let key = key(if is_jpeg { ".jpg" } else { ".tif" });
        let tiff = tiff();
        (key, if is_jpeg { jpeg(&tiff) } else { tiff })
    });
    cloud.into_bytes()
}

/// An image with one segment of metadata, and no picture behind it.
fn jpeg(tiff: &[u8]) -> Vec<u8> {
    let length = (tiff.len() + 8) as u16;
    let mut bytes = b"\xff\xd8\xff\xe1".to_vec();
    bytes.extend(length.to_be_bytes());
    bytes.extend(b"Exif\0\0");
    bytes.extend(tiff);
    bytes.extend(b"\xff\xd9");
    bytes
}

/// A field: its tag, type, count, and value.
struct Field {
    tag: u16,
    kind: u16,
    count: u32,
    value: Vec<u8>,
}

/// Three directories, each with its fields in order: the image's, the photo's, and the place's.
fn tiff() -> Vec<u8> {
    let _span = span!("Exif");
    let big = structure!().boolean();
    let mut image = fields(big, &[0x10e, 0x10f, 0x110, 0x112, 0x132]);
    let photo = structure!()
        .chance(3, 4)
        .then(|| fields(big, &[0x829a, 0x9003, 0x9004, 0xa002]));
    let place = structure!().boolean().then(|| fields(big, &[1, 2, 3, 4]));
    let mut bytes = if big {
        b"MM\0\x2a\0\0\0\x08".to_vec()
    } else {
        b"II\x2a\0\x08\0\0\0".to_vec()
    };
    let pointers = [(0x8769, &photo), (0x8825, &place)];
    for (tag, _) in pointers.iter().filter(|(_, directory)| directory.is_some()) {
        image.push(Field {
            tag: *tag,
            kind: 4,
            count: 1,
            value: vec![0; 4],
        });
    }
    let mut start = 8 + size(&image);
    for (tag, directory) in pointers {
        if let (Some(field), Some(directory)) =
            (image.iter_mut().find(|field| field.tag == tag), directory)
        {
            field.value = word(big, start);
            start += size(directory);
        }
    }
    for directory in [Some(&image), photo.as_ref(), place.as_ref()]
        .into_iter()
        .flatten()
    {
        write(&mut bytes, big, directory);
    }
    bytes
}

fn fields(big: bool, tags: &[u16]) -> Vec<Field> {
    let mut fields = Vec::new();
    for &tag in tags {
        if structure!().chance(3, 4) {
            let _span = span!("Field");
            fields.push(field(big, tag));
        }
    }
    fields
}

fn field(big: bool, tag: u16) -> Field {
    if structure!().chance(1, 16) {
        return of_any_type(big, tag);
    }
    match tag {
        0x112 => short(big, tag, value!().int(0..=9)),
        0xa002 => short(big, tag, value!().int(..)),
        0x132 | 0x9003 | 0x9004 => ascii(tag, date()),
        0x829a => rationals(big, tag, 1),
        1 => ascii(tag, value!().word(&["N", "S", "N", "S", ""]).into()),
        3 => ascii(tag, value!().word(&["E", "W", "E", "W", ""]).into()),
        2 | 4 => rationals(big, tag, 3),
        _ => ascii(tag, text()),
    }
}

/// `2011:02:03 04:05:06`, each number by itself.
fn date() -> String {
    let _span = span!("DateTime");
    if structure!().chance(1, 8) {
        return text();
    }
    let year = value!().int(0..=9999);
    let [month, day] = [value!().int(0..=13), value!().int(0..=31)];
    let [hour, minute, second] = [
        value!().int(0..=24),
        value!().int(0..=60),
        value!().int(0..=60),
    ];
    format!("{year:04}:{month:02}:{day:02} {hour:02}:{minute:02}:{second:02}")
}

fn of_any_type(big: bool, tag: u16) -> Field {
    one_of!(structure!();
        ascii(tag, text()),
        short(big, tag, value!().int(..)),
        rationals(big, tag, value!().int(0..=4)),
        Field { tag, kind: value!().int(0..=13), count: value!().int(0..=9), value: value!().bytes(0, 16) })
}

fn short(big: bool, tag: u16, number: u16) -> Field {
    let mut value = if big {
        number.to_be_bytes()
    } else {
        number.to_le_bytes()
    }
    .to_vec();
    value.resize(4, 0);
    Field {
        tag,
        kind: 3,
        count: 1,
        value,
    }
}

fn ascii(tag: u16, text: String) -> Field {
    let mut value = text.into_bytes();
    value.push(0);
    Field {
        tag,
        kind: 2,
        count: value.len() as u32,
        value,
    }
}

fn rationals(big: bool, tag: u16, count: u32) -> Field {
    let mut value = Vec::new();
    for _ in structure!().times(count as usize) {
        value.extend(word(big, value!().int(0..=200)));
        value.extend(word(big, value!().int(0..=3)));
    }
    Field {
        tag,
        kind: 5,
        count,
        value,
    }
}

fn word(big: bool, number: u32) -> Vec<u8> {
    if big {
        number.to_be_bytes()
    } else {
        number.to_le_bytes()
    }
    .to_vec()
}

/// Bytes of a directory with what lies behind it.
fn size(fields: &[Field]) -> u32 {
    let behind = fields
        .iter()
        .map(|field| field.value.len())
        .filter(|&bytes| bytes > 4);
    (2 + 12 * fields.len() + 4 + behind.sum::<usize>()) as u32
}

fn write(bytes: &mut Vec<u8>, big: bool, fields: &[Field]) {
    let half = |number: u16| {
        if big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let mut behind = bytes.len() + 2 + 12 * fields.len() + 4;
    let mut values: Vec<u8> = Vec::new();
    bytes.extend(half(fields.len() as u16));
    for field in fields {
        bytes.extend(half(field.tag));
        bytes.extend(half(field.kind));
        bytes.extend(word(big, field.count));
        if field.value.len() > 4 {
            bytes.extend(word(big, behind as u32));
            behind += field.value.len();
            values.extend(&field.value);
        } else {
            let mut value = field.value.clone();
            value.resize(4, 0);
            bytes.extend(value);
        }
    }
    bytes.extend([0; 4]);
    bytes.extend(values);
}
