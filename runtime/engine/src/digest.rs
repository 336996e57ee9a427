//! BLAKE3 of any serialisable value, so that a state's hash needs no storage format.
//!
//! In: a value. Out: a hash of its contents, lengths and variants included. Numbers are hashed as
//! fixed-width little-endian bytes. Floats are refused: a state must not have any.

use std::fmt;

use serde::ser::{self, Serialize};

/// Hexadecimal BLAKE3 of a value.
pub(crate) fn digest(value: &impl Serialize) -> String {
    let mut hasher = Digest {
        hasher: blake3::Hasher::new(),
        pending: Vec::with_capacity(FLUSH + 64),
    };
    value
        .serialize(&mut hasher)
        .expect("a state is made of integers, bytes and sequences of known length");
    hasher.hasher.update(&hasher.pending);
    hasher.hasher.finalize().to_hex().to_string()
}

/// The first 128 bits of a hash, for tables of what has been seen.
pub(crate) fn short(hash: blake3::Hash) -> u128 {
    let (low, _) = hash.as_bytes().split_first_chunk().expect("32 bytes");
    u128::from_le_bytes(*low)
}

/// Hashing a few bytes at a time costs more than collecting them first.
const FLUSH: usize = 1 << 14;

struct Digest {
    hasher: blake3::Hasher,
    pending: Vec<u8>,
}

impl Digest {
    fn put(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= FLUSH {
            self.hasher.update(&self.pending);
            self.pending.clear();
        }
    }

    fn len(&mut self, len: Option<usize>) -> Result<&mut Self, Refused> {
        let len = len.ok_or(Refused)?;
        self.put(&(len as u64).to_le_bytes());
        Ok(self)
    }

    fn variant(&mut self, index: u32) -> &mut Self {
        self.put(&index.to_le_bytes());
        self
    }
}

/// A value that cannot be hashed.
#[derive(Debug)]
pub(crate) struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of no fixed form")
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: fmt::Display>(_: T) -> Refused {
        Refused
    }
}

macro_rules! integers {
    ($($name:ident $type:ty),*) => {$(
        fn $name(self, value: $type) -> Result<(), Refused> {
            self.put(&value.to_le_bytes());
            Ok(())
        }
    )*};
}

impl ser::Serializer for &mut Digest {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    integers!(
        serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64,
        serialize_u128 u128
    );

    fn serialize_bool(self, value: bool) -> Result<(), Refused> {
        self.serialize_u8(u8::from(value))
    }
    fn serialize_f32(self, _: f32) -> Result<(), Refused> {
        Err(Refused)
    }
    fn serialize_f64(self, _: f64) -> Result<(), Refused> {
        Err(Refused)
    }
    fn serialize_char(self, value: char) -> Result<(), Refused> {
        self.serialize_u32(u32::from(value))
    }
    fn serialize_str(self, value: &str) -> Result<(), Refused> {
        self.serialize_bytes(value.as_bytes())
    }
    fn serialize_bytes(self, value: &[u8]) -> Result<(), Refused> {
        self.len(Some(value.len()))?.put(value);
        Ok(())
    }
    fn serialize_none(self) -> Result<(), Refused> {
        self.serialize_u8(0)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Refused> {
        self.put(&[1]);
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Refused> {
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Refused> {
        Ok(())
    }
    fn serialize_unit_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
    ) -> Result<(), Refused> {
        self.variant(index);
        Ok(())
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Refused> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Refused> {
        value.serialize(self.variant(index))
    }
    fn serialize_seq(self, len: Option<usize>) -> Result<Self, Refused> {
        self.len(len)
    }
    fn serialize_tuple(self, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refused> {
        Ok(self.variant(index))
    }
    fn serialize_map(self, len: Option<usize>) -> Result<Self, Refused> {
        self.len(len)
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refused> {
        Ok(self.variant(index))
    }
}

macro_rules! compounds {
    ($($trait:ident $element:ident),*) => {$(
        impl ser::$trait for &mut Digest {
            type Ok = ();
            type Error = Refused;
            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
                value.serialize(&mut **self)
            }
            fn end(self) -> Result<(), Refused> {
                Ok(())
            }
        }
    )*};
}

compounds!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

macro_rules! structs {
    ($($trait:ident),*) => {$(
        impl ser::$trait for &mut Digest {
            type Ok = ();
            type Error = Refused;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<(), Refused> {
                value.serialize(&mut **self)
            }
            fn end(self) -> Result<(), Refused> {
                Ok(())
            }
        }
    )*};
}

structs!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for &mut Digest {
    type Ok = ();
    type Error = Refused;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        key.serialize(&mut **self)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        value.serialize(&mut **self)
    }
    fn end(self) -> Result<(), Refused> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_variants_count() {
        assert_eq!(digest(&vec![1u8, 2]), digest(&vec![1u8, 2]));
        assert_ne!(
            digest(&(vec![1u8], vec![2u8])),
            digest(&(vec![1u8, 2], Vec::<u8>::new()))
        );
        assert_ne!(digest(&Some(0u8)), digest(&None::<u8>));
        assert_ne!(digest(&"ab"), digest(&"ac"));
    }
}
