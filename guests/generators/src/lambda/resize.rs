//! Pictures: PNG, BMP and PNM, small and plain.

use sandglass_sdk::{one_of, span, structure, value};

use super::{Cloud, key};

/// For the handler that makes small pictures of large ones.
pub fn resize() -> Vec<u8> {
    let mut cloud = Cloud::of_files(|| {
        one_of!(structure!();
            (key(".png"), png()),
            (key(".bmp"), bmp()),
            (key(".ppm"), pnm()))
    });
    if structure!().chance(3, 4) {
        let _span = span!("Thumbnail");
        cloud.item("settings", "uploads", &["quality"]);
        if structure!().boolean() {
            let side = value!().int(0..=100).to_string();
            let (_, _, attributes) = cloud.items.last_mut().expect("it has just been added");
            attributes.push(("side".to_owned(), side));
        }
    }
    cloud.into_bytes()
}

/// Sides: small, or a strip as long as is allowed.
fn sides() -> [u32; 2] {
    one_of!(structure!();
        6 => [value!().int(0..=12), value!().int(0..=12)],
        1 => [value!().int(65..=260), value!().int(1..=3)],
        1 => [value!().int(1..=3), value!().int(65..=260)])
}

/// As many bytes as asked for, of a pattern.
fn pixels(count: usize) -> Vec<u8> {
    let (start, step) = (value!().int::<u8>(..), value!().int::<u8>(..));
    (0..count)
        .map(|at| start.wrapping_add((at as u8).wrapping_mul(step)))
        .collect()
}

fn png() -> Vec<u8> {
    let _span = span!("DynamicImage");
    let [width, height] = sides();
    let (kind, channels) = *value!().pick(&[(0_u8, 1_u32), (2, 3), (3, 1), (4, 2), (6, 4), (1, 1)]);
    let depth = one_of!(value!(); 6 => 8_u8, 1 => 16, 1 => 4, 1 => 2, 1 => 1);
    let interlaced = value!().chance(1, 4);
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([depth, kind, 0, 0, u8::from(interlaced)]);
    let row = (width * channels * u32::from(depth)).div_ceil(8) as usize;
    let mut data = Vec::new();
    for _ in 0..height {
        data.push(value!().int(0..=5));
        data.extend(pixels(row));
    }
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut png, b"IHDR", &header);
    if kind == 3 || structure!().chance(1, 8) {
        chunk(&mut png, b"PLTE", &pixels(3 * value!().int(1..=8)));
    }
    if structure!().chance(1, 4) {
        let tag = value!().pick(&[b"tRNS", b"gAMA", b"tEXt", b"pHYs", b"sRGB", b"bKGD"]);
        chunk(&mut png, tag, &value!().bytes(0, 12));
    }
    chunk(&mut png, b"IDAT", &stored(&data));
    chunk(&mut png, b"IEND", b"");
    png
}

fn chunk(png: &mut Vec<u8>, tag: &[u8; 4], data: &[u8]) {
    png.extend((data.len() as u32).to_be_bytes());
    let start = png.len();
    png.extend(tag);
    png.extend(data);
    let sum = super::unzip::crc32(&png[start..]);
    png.extend(sum.to_be_bytes());
}

/// A zlib stream of blocks that are not compressed.
fn stored(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 1];
    stream.extend(super::unzip::deflate_stored(data));
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in data {
        a = (a + u32::from(*byte)) % 65521;
        b = (b + a) % 65521;
    }
    stream.extend((b << 16 | a).to_be_bytes());
    stream
}

fn bmp() -> Vec<u8> {
    let _span = span!("DynamicImage");
    let [width, height] = sides();
    let bits = *value!().pick(&[1_u16, 4, 8, 16, 24, 32, 2]);
    let compression = one_of!(value!(); 6 => 0_u32, 1 => 1, 1 => 2, 1 => 3);
    let colours = if bits <= 8 {
        value!().int(0..=1_u32 << bits.min(4))
    } else {
        0
    };
    let is_top_down = value!().chance(1, 4);
    let row = (width * u32::from(bits)).div_ceil(32) * 4;
    let mut data = pixels((4 * colours) as usize);
    data.extend(pixels((row * height) as usize));
    let signed = if is_top_down {
        (height as i32).wrapping_neg()
    } else {
        height as i32
    };
    let mut bmp = b"BM".to_vec();
    let offset = 54 + 4 * colours;
    for word in [offset + row * height, 0, offset, 40, width] {
        bmp.extend(word.to_le_bytes());
    }
    bmp.extend(signed.to_le_bytes());
    bmp.extend(1_u16.to_le_bytes());
    bmp.extend(bits.to_le_bytes());
    for word in [compression, row * height, 2835, 2835, colours, 0] {
        bmp.extend(word.to_le_bytes());
    }
    bmp.extend(data);
    bmp
}

fn pnm() -> Vec<u8> {
    let _span = span!("DynamicImage");
    let [width, height] = sides();
    let kind = value!().int(1..=6_u32);
    let most = one_of!(value!(); 6 => 255_u32, 1 => value!().int(0..=65535));
    let samples = width * height * if kind % 3 == 0 { 3 } else { 1 };
    let mut pnm = format!("P{kind}\n{width} {height}\n");
    if kind % 3 != 1 {
        pnm.push_str(&format!("{most}\n"));
    }
    let mut pnm = pnm.into_bytes();
    let raw = pixels(samples as usize);
    match kind {
        1 => raw
            .iter()
            .for_each(|sample| pnm.extend([b'0' + (sample & 1), b' '])),
        2 | 3 => raw
            .iter()
            .for_each(|sample| pnm.extend(format!("{sample} ").bytes())),
        4 => pnm.extend(&raw[..(width.div_ceil(8) * height).min(samples) as usize]),
        _ => pnm.extend(raw),
    }
    pnm
}
