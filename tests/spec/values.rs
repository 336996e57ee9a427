//! Values of the test suite: arguments as wasmtime takes them, and results held against patterns.

use wasmtime::{AnyRef, Error, ExternRef, Store, Val};
use wast::WastRet;
use wast::core::{NanPattern, V128Pattern, WastArgCore, WastRetCore};
use wast::token::{F32, F64};

use crate::world::Verdict;

/// An argument other than null, whose type only the function knows.
pub(crate) fn argument(store: &mut Store<()>, arg: &WastArgCore<'_>) -> Result<Val, Error> {
    Ok(match arg {
        WastArgCore::I32(value) => Val::I32(*value),
        WastArgCore::I64(value) => Val::I64(*value),
        WastArgCore::F32(value) => Val::F32(value.bits),
        WastArgCore::F64(value) => Val::F64(value.bits),
        WastArgCore::V128(value) => Val::V128(u128::from_le_bytes(value.to_le_bytes()).into()),
        WastArgCore::RefExtern(value) => Val::ExternRef(Some(ExternRef::new(&mut *store, *value)?)),
        WastArgCore::RefHost(value) => {
            let value = ExternRef::new(&mut *store, *value)?;
            Val::AnyRef(Some(AnyRef::convert_extern(&mut *store, value)?))
        }
        WastArgCore::RefNull(_) => unreachable!("nulls are made by type"),
    })
}

/// Holds results against what is expected.
pub(crate) fn compare(store: &mut Store<()>, values: &[Val], expected: &[WastRet<'_>]) -> Verdict {
    let fits = values.len() == expected.len()
        && values
            .iter()
            .zip(expected)
            .all(|(value, expected)| match expected {
                WastRet::Core(expected) => matches(store, value, expected),
                _ => false,
            });
    if fits {
        Verdict::Pass("values".into())
    } else {
        Verdict::Fail(format!("{values:?}, expected {expected:?}"))
    }
}

fn matches(store: &mut Store<()>, value: &Val, expected: &WastRetCore<'_>) -> bool {
    match (value, expected) {
        (_, WastRetCore::Either(choices)) => {
            choices.iter().any(|choice| matches(store, value, choice))
        }
        (Val::I32(a), WastRetCore::I32(b)) => a == b,
        (Val::I64(a), WastRetCore::I64(b)) => a == b,
        (Val::F32(a), WastRetCore::F32(b)) => f32_matches(*a, b),
        (Val::F64(a), WastRetCore::F64(b)) => f64_matches(*a, b),
        (Val::V128(a), WastRetCore::V128(b)) => v128_matches(a.as_u128(), b),
        (
            Val::FuncRef(None) | Val::ExternRef(None) | Val::AnyRef(None) | Val::ExnRef(None),
            WastRetCore::RefNull(_),
        ) => true,
        (Val::FuncRef(Some(_)), WastRetCore::RefFunc(_)) => true,
        (Val::ExternRef(Some(_)), WastRetCore::RefExtern(None)) => true,
        (Val::ExternRef(Some(a)), WastRetCore::RefExtern(Some(b))) => holds(store, *a, *b),
        (Val::AnyRef(Some(a)), WastRetCore::RefHost(b)) => {
            ExternRef::convert_any(&mut *store, *a).is_ok_and(|a| holds(store, a, *b))
        }
        (Val::AnyRef(Some(_)), WastRetCore::RefAny) => true,
        (Val::AnyRef(Some(a)), WastRetCore::RefEq) => a.is_eqref(&*store).unwrap_or(false),
        (Val::AnyRef(Some(a)), WastRetCore::RefArray) => a.is_array(&*store).unwrap_or(false),
        (Val::AnyRef(Some(a)), WastRetCore::RefStruct) => a.is_struct(&*store).unwrap_or(false),
        (Val::AnyRef(Some(a)), WastRetCore::RefI31) => a.is_i31(&*store).unwrap_or(false),
        _ => false,
    }
}

fn holds(store: &mut Store<()>, reference: wasmtime::Rooted<ExternRef>, expected: u32) -> bool {
    let data = reference.data(&*store).ok().flatten();
    data.and_then(|data| data.downcast_ref::<u32>())
        .is_some_and(|data| *data == expected)
}

/// Canonical: only the quiet bit of the payload is set. Arithmetic: at least that bit is.
fn f32_matches(bits: u32, expected: &NanPattern<F32>) -> bool {
    match expected {
        NanPattern::CanonicalNan => bits & 0x7fff_ffff == 0x7fc0_0000,
        NanPattern::ArithmeticNan => bits & 0x7fc0_0000 == 0x7fc0_0000,
        NanPattern::Value(value) => bits == value.bits,
    }
}

fn f64_matches(bits: u64, expected: &NanPattern<F64>) -> bool {
    match expected {
        NanPattern::CanonicalNan => bits & 0x7fff_ffff_ffff_ffff == 0x7ff8_0000_0000_0000,
        NanPattern::ArithmeticNan => bits & 0x7ff8_0000_0000_0000 == 0x7ff8_0000_0000_0000,
        NanPattern::Value(value) => bits == value.bits,
    }
}

fn v128_matches(bits: u128, expected: &V128Pattern) -> bool {
    let lane = |width: usize, at: usize| (bits >> (width * at)) as u64;
    match expected {
        V128Pattern::I8x16(lanes) => lanes
            .iter()
            .enumerate()
            .all(|(n, l)| lane(8, n) as u8 == l.cast_unsigned()),
        V128Pattern::I16x8(lanes) => lanes
            .iter()
            .enumerate()
            .all(|(n, l)| lane(16, n) as u16 == l.cast_unsigned()),
        V128Pattern::I32x4(lanes) => lanes
            .iter()
            .enumerate()
            .all(|(n, l)| lane(32, n) as u32 == l.cast_unsigned()),
        V128Pattern::I64x2(lanes) => lanes
            .iter()
            .enumerate()
            .all(|(n, l)| lane(64, n) == l.cast_unsigned()),
        V128Pattern::F32x4(lanes) => lanes
            .iter()
            .enumerate()
            .all(|(n, l)| f32_matches(lane(32, n) as u32, l)),
        V128Pattern::F64x2(lanes) => lanes
            .iter()
            .enumerate()
            .all(|(n, l)| f64_matches(lane(64, n), l)),
    }
}
