//! A decoder of small binary messages, with four bugs of the kind that real decoders have.
//!
//! A message is `SG`, a version (1 or 2), and records: a kind, a length, and as many bytes. It decodes into fixed
//! tables, as firmware does; nothing is allocated. The bugs, none of them marked in the code:
//!
//! 1. a palette entry is looked up with an index that may be the palette's length;
//! 2. the centre of a path without points is computed;
//! 3. a name may refer to itself, directly or through others;
//! 4. in version 2, padding of length zero is skipped for ever.
#![no_std]

const NAMES: usize = 8;

/// What a record turned out to be wrong with.
enum Malformed {
    Magic,
    Version,
    Truncated,
    Kind,
    TooMany,
    Value,
}

#[derive(Clone, Copy)]
enum Name<'a> {
    Free,
    Text(&'a [u8]),
    SameAs(usize),
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline(always)]
    fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, rest) = self.rest.split_first().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(*first)
    }

    #[inline(always)]
    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    #[inline]
    fn short(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }
}

struct Message<'a> {
    version: u8,
    palette: &'a [u8],
    names: [Name<'a>; NAMES],
    name_count: usize,
    ink: u32,
}

impl<'a> Message<'a> {
    fn decode(data: &'a [u8]) -> Result<Message<'a>, Malformed> {
        let mut reader = Reader { rest: data };
        if reader.take(2)? != b"SG" {
            return Err(Malformed::Magic);
        }
        let version = reader.byte()?;
        if version != 1 && version != 2 {
            return Err(Malformed::Version);
        }
        let mut message = Message { version, palette: &[], names: [Name::Free; NAMES], name_count: 0, ink: 0 };
        while !reader.rest.is_empty() {
            message.record(&mut reader)?;
        }
        Ok(message)
    }

    fn record(&mut self, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        let kind = reader.byte()?;
        if kind == b'.' && self.version == 2 {
            return padding(reader);
        }
        let length = usize::from(reader.byte()?);
        let body = reader.take(length)?;
        match kind {
            b'C' => self.palette = body,
            b'P' => self.pixels(body)?,
            b'L' => self.path(Reader { rest: body })?,
            b'N' => self.add_name(Name::Text(body))?,
            b'R' => {
                let index = Reader { rest: body }.byte()?;
                self.add_name(Name::SameAs(usize::from(index)))?;
            }
            b'U' => {
                let index = Reader { rest: body }.byte()?;
                self.ink += self.resolve(usize::from(index)).len() as u32;
            }
            _ => return Err(Malformed::Kind),
        }
        Ok(())
    }

    #[inline(never)]
    fn pixels(&mut self, body: &[u8]) -> Result<(), Malformed> {
        if self.palette.is_empty() {
            return Err(Malformed::Value);
        }
        for &pixel in body {
            let index = usize::from(pixel & 0x3f);
            if index <= self.palette.len() {
                self.ink = self.ink.wrapping_add(self.colour(index));
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn colour(&self, index: usize) -> u32 {
        u32::from(self.palette[index])
    }

    #[inline(never)]
    fn path(&mut self, mut body: Reader) -> Result<(), Malformed> {
        let closed = body.byte()? & 1 == 1;
        let mut points = 0u32;
        let mut sum = 0u32;
        while body.rest.len() >= 4 {
            sum = sum.wrapping_add(u32::from(body.short()?) ^ u32::from(body.short()?));
            points += 1;
        }
        if !body.rest.is_empty() {
            return Err(Malformed::Value);
        }
        if closed {
            self.ink = self.ink.wrapping_add(centre(sum, points));
        }
        Ok(())
    }

    fn add_name(&mut self, name: Name<'a>) -> Result<(), Malformed> {
        let slot = self.names.get_mut(self.name_count).ok_or(Malformed::TooMany)?;
        *slot = name;
        self.name_count += 1;
        Ok(())
    }

    #[inline(never)]
    fn resolve(&self, index: usize) -> &'a [u8] {
        match self.names.get(index) {
            Some(Name::Text(text)) => text,
            Some(Name::SameAs(other)) => trimmed(self.resolve(*other)),
            _ => b"?",
        }
    }
}

#[inline(always)]
fn centre(sum: u32, points: u32) -> u32 {
    sum / points
}

fn trimmed(text: &[u8]) -> &[u8] {
    match text {
        [b' ', rest @ ..] => rest,
        _ => text,
    }
}

/// Skips padding: a length, counted in bytes that begin with the length itself.
#[inline(never)]
fn padding(reader: &mut Reader) -> Result<(), Malformed> {
    let mut left = 8;
    while left > 0 {
        let step = usize::from(*reader.rest.first().ok_or(Malformed::Truncated)?);
        if step > left {
            break;
        }
        reader.take(step)?;
        left -= step;
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    // SAFETY: the host passes a readable buffer of `size` bytes.
    match Message::decode(unsafe { core::slice::from_raw_parts(data, size) }) {
        Ok(message) => core::hint::black_box(message.ink & 0),
        Err(_) => u32::MAX,
    }
    .cast_signed()
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
