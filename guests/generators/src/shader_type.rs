//! Types of [`crate::shader`], and what may be done with their values.

use std::fmt;

use sandglass_sdk::{one_of, structure};

/// A type of one number or truth value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    F32,
    I32,
    U32,
    Bool,
}

pub(crate) const SCALARS: &[Scalar] = &[Scalar::F32, Scalar::I32, Scalar::U32, Scalar::Bool];

/// A type of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Scalar(Scalar),
    /// So many, from two to four.
    Vector(u8, Scalar),
    /// Columns and rows, of `f32`.
    Matrix(u8, u8),
}

impl Type {
    /// Few different ones, so that variables fit often.
    pub(crate) fn draw() -> Type {
        one_of!(structure!();
            6 => Type::Scalar(*structure!().pick(SCALARS)),
            3 => Type::Vector(structure!().int(2..=4), *structure!().pick(SCALARS)),
            1 => Type::Matrix(structure!().int(2..=4), structure!().int(2..=4)))
    }

    /// One of the same shape.
    pub(crate) fn draw_with(self) -> Type {
        let scalar = *structure!().pick(SCALARS);
        match self {
            Type::Scalar(_) => Type::Scalar(scalar),
            Type::Vector(count, _) => Type::Vector(count, scalar),
            matrix => matrix,
        }
    }

    /// What a scalar or vector is made of.
    pub(crate) fn element(self) -> Option<Scalar> {
        match self {
            Type::Scalar(scalar) | Type::Vector(_, scalar) => Some(scalar),
            Type::Matrix(..) => None,
        }
    }

    /// A value of zeros.
    pub(crate) fn zero(self) -> String {
        format!("{self}()")
    }

    pub(crate) fn unary_operators(self) -> &'static [&'static str] {
        match self.element() {
            Some(Scalar::F32 | Scalar::I32) => &["-"],
            Some(Scalar::U32) => &["~"],
            Some(Scalar::Bool) => &["!"],
            // There is none for matrices.
            None => &["-"],
        }
    }

    pub(crate) fn binary_operators(self) -> &'static [&'static str] {
        match self.element() {
            Some(Scalar::F32) => &[" + ", " - ", " * ", " / ", " % "],
            Some(Scalar::I32 | Scalar::U32) => &[
                " + ", " - ", " * ", " / ", " % ", " & ", " | ", " ^ ", " << ",
            ],
            Some(Scalar::Bool) => &[" & ", " | ", " && ", " == "],
            None => &[" + ", " - ", " * "],
        }
    }

    /// Functions from values of the type to the type, and of how many.
    pub(crate) fn builtins(self) -> &'static [(&'static str, u8)] {
        match self.element() {
            Some(Scalar::F32) => &[
                ("abs", 1),
                ("floor", 1),
                ("sqrt", 1),
                ("sin", 1),
                ("min", 2),
                ("pow", 2),
                ("mix", 3),
                ("dpdx", 1),
            ],
            Some(Scalar::I32 | Scalar::U32) => &[
                ("abs", 1),
                ("countOneBits", 1),
                ("max", 2),
                ("clamp", 3),
                ("reverseBits", 1),
            ],
            Some(Scalar::Bool) => &[("all", 1), ("any", 1)],
            None => &[("transpose", 1)],
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scalar::F32 => "f32",
            Scalar::I32 => "i32",
            Scalar::U32 => "u32",
            Scalar::Bool => "bool",
        })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(scalar) => scalar.fmt(f),
            Type::Vector(count, scalar) => write!(f, "vec{count}<{scalar}>"),
            Type::Matrix(columns, rows) => write!(f, "mat{columns}x{rows}<f32>"),
        }
    }
}
