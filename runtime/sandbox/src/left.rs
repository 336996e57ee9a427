//! Left: what a run has left behind, to be looked at before the reset takes it away.

use wasmtime::{Val, ValType};

use crate::calls::Calls;
use crate::live::Live;

/// The instance as a run left it.
pub struct Left<'a> {
    pub(crate) live: &'a mut Live,
    /// Memories of the guest; the regions after them are ours.
    pub(crate) memories: usize,
}

/// Memories and globals of the original module, in index order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Every memory.
    pub memories: Vec<MemoryLeft>,
    /// Every global; none in builds that do not export them.
    pub globals: Vec<GlobalLeft>,
}

/// A memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLeft {
    /// Do addresses have 64 bits?
    pub is_64: bool,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// The value of a global; floats by their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalLeft {
    /// An `i32`.
    I32(i32),
    /// An `i64`.
    I64(i64),
    /// An `f32`.
    F32(u32),
    /// An `f64`.
    F64(u64),
    /// A vector.
    V128(u128),
    /// A reference to a function, which has no bits.
    Function,
    /// A reference to something of the host's or an exception.
    Other,
}

impl Left<'_> {
    /// Bytes of the first memory; none without one.
    pub fn memory(&self) -> &[u8] {
        let first = self.live.regions[..self.memories].first();
        first.map_or(&[], |region| region.bytes(0, region.size()))
    }

    /// A virtual file, if there is one at `path`.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        self.live.store.data().system.file(path)
    }

    /// The calls of the run, in a build that keeps them.
    pub fn calls(&self) -> Option<&Calls> {
        self.live.store.data().calls.as_ref()
    }

    /// Copies of all memories and globals.
    pub fn state(&mut self) -> State {
        let guests = self.live.regions[..self.memories].iter();
        let memories = guests.zip(&self.live.memories).map(|(region, memory)| {
            let is_64 = memory.ty(&self.live.store).is_64();
            let bytes = region.bytes(0, region.size()).to_vec();
            MemoryLeft { is_64, bytes }
        });
        State {
            memories: memories.collect(),
            globals: (0..).map_while(|index| self.global(index)).collect(),
        }
    }

    fn global(&mut self, index: u32) -> Option<GlobalLeft> {
        let instance = self.live.store.data().instance();
        let name = format!("__sandglass_global_{index}");
        let global = instance.get_global(&mut self.live.store, &name)?;
        let is_function = matches!(
            global.ty(&self.live.store).content(),
            ValType::Ref(ty) if ty.heap_type().top().is_func()
        );
        Some(match global.get(&mut self.live.store) {
            Val::I32(value) => GlobalLeft::I32(value),
            Val::I64(value) => GlobalLeft::I64(value),
            Val::F32(bits) => GlobalLeft::F32(bits),
            Val::F64(bits) => GlobalLeft::F64(bits),
            Val::V128(value) => GlobalLeft::V128(value.as_u128()),
            _ if is_function => GlobalLeft::Function,
            _ => GlobalLeft::Other,
        })
    }
}
