//! What havoc reads besides the parent: tokens, limits, and how bold it may be.

use crate::dictionary::{Token, TokenSource};

/// `HAVOC_STACK_POW2`.
const STACK_POW2: u32 = 7;
/// What havoc reads besides the parent. Shared by all trials of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    pub(super) user: Tokens,
    pub(super) automatic: Tokens,
    pub(super) input_bytes_max: u32,
    pub(super) block_level: u32,
    pub(super) stack_pow2: u32,
    pub(super) appends: bool,
    /// What each byte of an input becomes before it is run, if not itself.
    alphabet: Option<Box<[u8]>>,
}

/// Tokens, one behind the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Tokens {
    fn push(&mut self, token: &[u8]) {
        self.bytes.extend_from_slice(token);
        self.ends.push(self.bytes.len() as u32);
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 {
            0
        } else {
            self.ends[at - 1] as usize
        };
        &self.bytes[start..self.ends[at] as usize]
    }
}

impl Tables {
    /// Tables for inputs of at most `input_bytes_max` bytes (at least 1), with AFL's defaults.
    pub fn new(tokens: &[Token], input_bytes_max: u32) -> Tables {
        let mut tables = Tables {
            user: Tokens::default(),
            automatic: Tokens::default(),
            input_bytes_max: input_bytes_max.max(1),
            block_level: 1,
            stack_pow2: STACK_POW2,
            appends: false,
            alphabet: None,
        };
        for token in tokens.iter().filter(|token| !token.bytes.is_empty()) {
            match token.source {
                TokenSource::User => tables.user.push(&token.bytes),
                TokenSource::Automatic => tables.automatic.push(&token.bytes),
            }
        }
        tables
    }

    /// The longest input that havoc makes.
    pub fn input_bytes_max(&self) -> u32 {
        self.input_bytes_max
    }

    /// How large blocks may get, as AFL's `rlim`: 1 up to 32 bytes, 2 up to 128, 3 up to 32 KiB.
    pub fn block_level(&self) -> u32 {
        self.block_level
    }

    pub(crate) fn with_block_level(mut self, level: u32) -> Tables {
        self.block_level = level.clamp(1, 3);
        self
    }

    /// The number of stacked operators is 2^(1 + below(n)); AFL's n is 7.
    pub(crate) fn with_stack_pow2(mut self, n: u32) -> Tables {
        self.stack_pow2 = n.clamp(1, 10);
        self
    }

    /// Whether a block may also be inserted behind the last byte. In AFL it may not.
    pub(crate) fn with_appends(mut self, appends: bool) -> Tables {
        self.appends = appends;
        self
    }

    /// What each byte of an input becomes before it is run.
    pub(crate) fn with_alphabet(mut self, to: fn(u8) -> u8) -> Tables {
        self.alphabet = Some((0..=u8::MAX).map(to).collect());
        self
    }

    /// Replaces the bytes of an input by what they become.
    #[inline]
    pub(crate) fn translate(&self, input: &mut [u8]) {
        if let Some(alphabet) = &self.alphabet {
            for byte in input {
                *byte = alphabet[usize::from(*byte)];
            }
        }
    }
}
