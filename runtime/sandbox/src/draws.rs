//! Draws: the imports of the contract, with the guest on one side and a [`Drawing`] on the other.
//!
//! Every guest is hostile: domains may be empty, addresses may lie anywhere, and nobody promises to
//! stop. Each of these has an exit of its own; nothing grows beyond the limits of the run.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

use sandglass_abi as abi;
use sandglass_engine::choice::paths::Step;
use sandglass_engine::choice::{Domain, Role, Stop, label_id};
use sandglass_engine::{Drawing, Exit, TrapKind};
use sandglass_instrument::layout;
use wasmtime::{Caller, Linker};

use crate::host::{Bytes, Host};
use crate::pages::Region;
use crate::wasi::GuestMemory;

/// Labels whose text is remembered for reports, and bytes of each.
const LABELS_MAX: usize = 4096;
const LABEL_BYTES_MAX: usize = 256;
/// Bytes of notes that are remembered of a run.
const NOTE_BYTES_MAX: usize = 64 << 10;

/// What one run draws and says about itself.
pub(crate) struct Draws {
    /// Who answers; nothing outside of runs that draw.
    drawing: Option<Drawing>,
    /// The most draws that any run made.
    draws_max: usize,
    /// What was emitted, and whether anything ever was: an input may be empty.
    input: Vec<u8>,
    has_input: bool,
    /// Of each byte of it the label, in the builds that follow draws.
    emitted: Vec<u32>,
    input_bytes_max: usize,
    stage: u8,
    notes: Vec<u8>,
    /// Text of labels by id. It outlives runs, because nothing but reports depends on it.
    labels: BTreeMap<u32, String>,
}

impl Draws {
    pub(crate) fn new(input_bytes_max: u32) -> Draws {
        Draws {
            drawing: None,
            draws_max: 0,
            input: Vec::new(),
            has_input: false,
            emitted: Vec::new(),
            input_bytes_max: input_bytes_max as usize,
            stage: 0,
            notes: Vec::new(),
            labels: BTreeMap::new(),
        }
    }

    /// Answers the draws of the run that begins.
    pub(crate) fn begin(&mut self, mut drawing: Drawing) {
        drawing.reserve(self.draws_max);
        self.drawing = Some(drawing);
    }

    /// What was drawn and emitted; nothing was if `emit` was never called.
    pub(crate) fn take(&mut self) -> (Option<Drawing>, Option<Vec<u8>>) {
        let input = std::mem::take(&mut self.input);
        let draws = self.drawing.as_ref().map_or(0, Drawing::draws);
        self.draws_max = self.draws_max.max(draws);
        (self.drawing.take(), self.has_input.then_some(input))
    }

    /// The labels of what was emitted; take them before that.
    pub(crate) fn take_emitted(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.emitted)
    }

    /// How far the input got.
    pub(crate) fn stage(&self) -> u8 {
        self.stage
    }

    /// Text for reports.
    pub(crate) fn notes(&self) -> &[u8] {
        &self.notes
    }

    /// Text of labels, by id.
    pub(crate) fn labels(&self) -> &BTreeMap<u32, String> {
        &self.labels
    }

    /// As before the run.
    pub(crate) fn reset(&mut self) {
        self.drawing = None;
        self.input.clear();
        self.has_input = false;
        self.emitted.clear();
        self.stage = 0;
        self.notes.clear();
    }
}

impl Host {
    /// Answers a draw, or ends the run. Inlined, because a domain that is passed in memory is written
    /// by halves and read as a whole: the processor waits for that longer than all the rest takes.
    #[inline(always)]
    fn draw(&mut self, site: i32, role: i32, domain: Domain) -> wasmtime::Result<u64> {
        let (site, role) = (site.cast_unsigned(), Role::from_code(role));
        let drawn = match &mut self.draws.drawing {
            Some(drawing) => {
                if drawing.wants_paths() {
                    locate(drawing, self.side.as_deref(), self.map.layout.path, 0);
                }
                drawing.draw(site, role, domain)
            }
            None => Err(Stop::Impossible),
        };
        if self.labels.is_some() {
            self.follow(1);
        }
        drawn.map_err(|stop| self.stopped(stop))
    }

    /// What is about to be returned depends on the last `count` draws, which come out.
    #[cold]
    #[inline(never)]
    fn follow(&mut self, count: usize) -> Range<u32> {
        let draws = self.draws.drawing.as_ref().map_or(0, Drawing::draws);
        // A byte each at least, of which there are never more than 32 bits count.
        let draws = draws.saturating_sub(count) as u32..draws as u32;
        if let Some(labels) = &self.labels {
            labels.returned(draws.clone());
        }
        draws
    }

    #[cold]
    fn stopped(&mut self, stop: Stop) -> wasmtime::Error {
        let exit = match stop {
            Stop::Overrun => Exit::Overrun,
            Stop::Impossible => Exit::BadDraw,
        };
        self.end(exit, 0)
    }

    /// As if the guest itself had read or written there.
    fn fault(&mut self) -> wasmtime::Error {
        self.end(Exit::Trap(TrapKind::OutOfBounds), 0)
    }

    /// Charges a call that looks at so many bytes.
    fn charge_bytes(&mut self, bytes: usize) -> wasmtime::Result<()> {
        if self.charge(1 + (bytes as u64 >> 3)) {
            return Err(self.end(Exit::Hang, 0));
        }
        Ok(())
    }
}

/// Tells where the next draw happens, if the build knows: the steps that start at `path` of the side
/// memory, which only probes write. Of one call that draws several times, `part` says which time it is.
#[cold]
#[inline(never)]
fn locate(drawing: &mut Drawing, side: Option<&Region>, path: u32, part: u32) {
    let Some(side) = side.filter(|_| path != 0) else {
        return;
    };
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let bytes = word(side.bytes(layout::PATH_TOP as usize, 4));
    let (steps, _) = side.bytes(path as usize, bytes as usize).as_chunks::<8>();
    let steps = steps.iter().map(|step| Step {
        call: word(&step[..4]),
        nth: word(&step[4..]),
    });
    // Functions are never so many.
    let within = (part > 0).then_some(Step {
        call: u32::MAX,
        nth: part,
    });
    drawing.locate(steps.chain(within));
}

/// The guest's first memory, and the rest of the host.
fn split<'a>(caller: &'a mut Caller<'_, Host>) -> (&'a mut [u8], &'a mut Host) {
    match caller.data().memory {
        Some(memory) => memory.data_and_store_mut(caller),
        None => (&mut [][..], caller.data_mut()),
    }
}

/// Bytes of the guest, or the end of the run.
pub(crate) fn text<'a>(
    caller: &'a mut Caller<'_, Host>,
    ptr: i32,
    len: i32,
) -> wasmtime::Result<(&'a [u8], &'a mut Host)> {
    let (memory, host) = split(caller);
    let (ptr, len) = (ptr.cast_unsigned() as usize, len.cast_unsigned() as usize);
    match memory.get(ptr..).and_then(|rest| rest.get(..len)) {
        Some(bytes) => {
            host.charge_bytes(len)?;
            Ok((bytes, host))
        }
        None => Err(host.fault()),
    }
}

/// Defines the import in `linker` if the contract has it.
pub(crate) fn provide(linker: &mut Linker<Host>, name: &str) -> bool {
    let module = abi::IMPORT_MODULE;
    let defined = match name {
        abi::DRAW_INT => linker.func_wrap(module, name, draw_int),
        abi::DRAW_BOOL => linker.func_wrap(module, name, draw_bool),
        abi::DRAW_FLOAT => linker.func_wrap(module, name, draw_float),
        abi::DRAW_BYTES => linker.func_wrap(module, name, draw_bytes),
        abi::DRAW_STRING => linker.func_wrap(module, name, draw_string),
        abi::LABEL => linker.func_wrap(module, name, label),
        abi::SPAN_OPEN => linker.func_wrap(module, name, span_open),
        abi::SPAN_CLOSE => linker.func_wrap(module, name, span_close),
        abi::EMIT => linker.func_wrap(module, name, emit),
        abi::STAGE => linker.func_wrap(module, name, stage),
        abi::REJECT => linker.func_wrap(module, name, reject),
        abi::NOTE => linker.func_wrap(module, name, note),
        _ => return false,
    };
    defined.is_ok()
}

fn draw_int(
    mut caller: Caller<'_, Host>,
    site: i32,
    role: i32,
    lo: i64,
    hi: i64,
) -> wasmtime::Result<i64> {
    let domain = Domain::Int { lo, hi };
    (caller.data_mut().draw(site, role, domain)).map(u64::cast_signed)
}

fn draw_bool(
    mut caller: Caller<'_, Host>,
    site: i32,
    role: i32,
    num: i32,
    den: i32,
) -> wasmtime::Result<i32> {
    let domain = Domain::Bool {
        num: num.cast_unsigned(),
        den: den.cast_unsigned(),
    };
    (caller.data_mut().draw(site, role, domain)).map(|value| value as i32)
}

fn draw_float(
    mut caller: Caller<'_, Host>,
    site: i32,
    role: i32,
    lo: f64,
    hi: f64,
) -> wasmtime::Result<f64> {
    let domain = Domain::float(lo, hi);
    (caller.data_mut().draw(site, role, domain)).map(f64::from_bits)
}

fn draw_bytes(
    mut caller: Caller<'_, Host>,
    site: i32,
    role: i32,
    ptr: i32,
    min: i32,
    max: i32,
) -> wasmtime::Result<i32> {
    let domain = Domain::Bytes {
        min: min.cast_unsigned(),
        max: max.cast_unsigned(),
    };
    let (bytes, host) = split(&mut caller);
    if !domain.is_possible() {
        return Err(host.stopped(Stop::Impossible));
    }
    // The whole buffer has to be there, whatever will be drawn.
    let end = u64::from(ptr.cast_unsigned()) + u64::from(max.cast_unsigned());
    if end > bytes.len() as u64 {
        return Err(host.fault());
    }
    let len = host.draw(site, role, domain)? as usize;
    host.charge_bytes(len)?;
    give(bytes, host, ptr, len, 1);
    Ok(len as i32)
}

fn draw_string(
    mut caller: Caller<'_, Host>,
    site: i32,
    role: i32,
    ptr: i32,
    max: i32,
) -> wasmtime::Result<i32> {
    let (bytes, host) = split(&mut caller);
    let max = max.cast_unsigned();
    if u64::from(ptr.cast_unsigned()) + u64::from(max) > bytes.len() as u64 {
        return Err(host.fault());
    }
    let place = (site.cast_unsigned(), Role::from_code(role));
    let before = host.draws.drawing.as_ref().map_or(0, Drawing::draws);
    let (side, path) = (host.side.as_deref(), host.map.layout.path);
    let drawn = match &mut host.draws.drawing {
        Some(drawing) => drawing.string(place, max, |drawing, part| {
            if drawing.wants_paths() {
                locate(drawing, side, path, part);
            }
        }),
        None => Err(Stop::Impossible),
    };
    let drawn = drawn.map_err(|stop| host.stopped(stop))?;
    let draws = host.draws.drawing.as_ref().map_or(0, Drawing::draws) - before;
    let Some(len) = drawn else {
        if host.labels.is_some() {
            host.follow(draws);
        }
        return Ok(-1);
    };
    host.charge_bytes(len as usize)?;
    give(bytes, host, ptr, len as usize, draws);
    Ok(len.cast_signed())
}

/// Copies the bytes that have just been drawn, by so many draws, to a buffer that is there.
fn give(bytes: &mut [u8], host: &mut Host, ptr: i32, len: usize, draws: usize) {
    let draws_made = host.labels.is_some().then(|| host.follow(draws));
    let Host {
        draws,
        marks,
        labels,
        ..
    } = host;
    let drawing = draws.drawing.as_ref().expect("it has just answered");
    let mut memory = Bytes {
        bytes,
        marks: marks.as_deref(),
        heap: None,
        refused: Cell::new(None),
        labels: labels.as_ref(),
    };
    let written = memory.write(ptr.cast_unsigned(), drawing.last_bytes(len));
    written.expect("the buffer is there");
    if let (Some(labels), Some(draws)) = (labels, draws_made) {
        labels.drawn(ptr.cast_unsigned(), len as u32, draws);
    }
}

fn label(mut caller: Caller<'_, Host>, ptr: i32, len: i32) -> wasmtime::Result<i32> {
    let (text, host) = text(&mut caller, ptr, len)?;
    let id = label_id(text);
    let labels = &mut host.draws.labels;
    if labels.len() < LABELS_MAX {
        labels.entry(id).or_insert_with(|| {
            String::from_utf8_lossy(&text[..text.len().min(LABEL_BYTES_MAX)]).into_owned()
        });
    }
    Ok(id.cast_signed())
}

fn span_open(mut caller: Caller<'_, Host>, label: i32) -> wasmtime::Result<()> {
    let host = caller.data_mut();
    let opened = match &mut host.draws.drawing {
        Some(drawing) => drawing.open(label.cast_unsigned()),
        None => Err(Stop::Impossible),
    };
    opened.map_err(|stop| host.stopped(stop))
}

fn span_close(mut caller: Caller<'_, Host>, discard: i32) {
    if let Some(drawing) = &mut caller.data_mut().draws.drawing {
        drawing.close(discard != 0);
    }
}

fn emit(mut caller: Caller<'_, Host>, ptr: i32, len: i32) -> wasmtime::Result<()> {
    let (bytes, host) = text(&mut caller, ptr, len)?;
    let draws = &mut host.draws;
    if draws.drawing.is_none() {
        return Err(host.stopped(Stop::Impossible));
    }
    if bytes.len() > draws.input_bytes_max - draws.input.len() {
        return Err(host.stopped(Stop::Overrun));
    }
    draws.input.extend_from_slice(bytes);
    draws.has_input = true;
    if let Some(labels) = &host.labels {
        draws
            .emitted
            .extend(labels.at(ptr.cast_unsigned(), bytes.len() as u32));
        draws.emitted.resize(draws.input.len(), 0);
    }
    Ok(())
}

fn stage(mut caller: Caller<'_, Host>, n: i32) {
    let stage = &mut caller.data_mut().draws.stage;
    *stage = (*stage).max(n.clamp(0, 255) as u8);
}

fn reject(mut caller: Caller<'_, Host>) -> wasmtime::Result<()> {
    Err(caller.data_mut().end(Exit::Invalid, 0))
}

fn note(mut caller: Caller<'_, Host>, ptr: i32, len: i32) -> wasmtime::Result<()> {
    let (bytes, host) = text(&mut caller, ptr, len)?;
    let notes = &mut host.draws.notes;
    let room = NOTE_BYTES_MAX - notes.len();
    notes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    if room > bytes.len() {
        notes.push(b'\n');
    }
    Ok(())
}
