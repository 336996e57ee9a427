//! Random programs full of floats, as text: every expression has all its operands at hand.

use sandglass_engine::rng::Rng;

/// Operators: name (with immediates), result, operands.
const OPERATORS: &[&str] = &[
    "f32.add f32 f32 f32",
    "f32.sub f32 f32 f32",
    "f32.mul f32 f32 f32",
    "f32.div f32 f32 f32",
    "f32.min f32 f32 f32",
    "f32.max f32 f32 f32",
    "f32.copysign f32 f32 f32",
    "f32.sqrt f32 f32",
    "f32.ceil f32 f32",
    "f32.floor f32 f32",
    "f32.trunc f32 f32",
    "f32.nearest f32 f32",
    "f32.neg f32 f32",
    "f32.abs f32 f32",
    "f32.demote_f64 f32 f64",
    "f32.reinterpret_i32 f32 i32",
    "f32.convert_i64_u f32 i64",
    "f32x4.extract_lane:1 f32 v128",
    "f64.add f64 f64 f64",
    "f64.sub f64 f64 f64",
    "f64.mul f64 f64 f64",
    "f64.div f64 f64 f64",
    "f64.min f64 f64 f64",
    "f64.max f64 f64 f64",
    "f64.copysign f64 f64 f64",
    "f64.sqrt f64 f64",
    "f64.ceil f64 f64",
    "f64.floor f64 f64",
    "f64.trunc f64 f64",
    "f64.nearest f64 f64",
    "f64.neg f64 f64",
    "f64.abs f64 f64",
    "f64.promote_f32 f64 f32",
    "f64.reinterpret_i64 f64 i64",
    "f64.convert_i32_s f64 i32",
    "f64x2.extract_lane:1 f64 v128",
    "i32.reinterpret_f32 i32 f32",
    "i32.trunc_sat_f64_s i32 f64",
    "i32.add i32 i32 i32",
    "f32.lt i32 f32 f32",
    "f64.eq i32 f64 f64",
    "i32x4.extract_lane:2 i32 v128",
    "v128.any_true i32 v128",
    "i64.reinterpret_f64 i64 f64",
    "i64.trunc_sat_f32_u i64 f32",
    "i64.xor i64 i64 i64",
    "i64x2.extract_lane:0 i64 v128",
    "f32x4.add v128 v128 v128",
    "f32x4.sub v128 v128 v128",
    "f32x4.mul v128 v128 v128",
    "f32x4.div v128 v128 v128",
    "f32x4.min v128 v128 v128",
    "f32x4.max v128 v128 v128",
    "f32x4.pmin v128 v128 v128",
    "f32x4.sqrt v128 v128",
    "f32x4.nearest v128 v128",
    "f32x4.neg v128 v128",
    "f32x4.abs v128 v128",
    "f32x4.lt v128 v128 v128",
    "f32x4.splat v128 f32",
    "f32x4.replace_lane:3 v128 v128 f32",
    "f32x4.demote_f64x2_zero v128 v128",
    "f64x2.add v128 v128 v128",
    "f64x2.sub v128 v128 v128",
    "f64x2.mul v128 v128 v128",
    "f64x2.div v128 v128 v128",
    "f64x2.min v128 v128 v128",
    "f64x2.max v128 v128 v128",
    "f64x2.pmax v128 v128 v128",
    "f64x2.sqrt v128 v128",
    "f64x2.floor v128 v128",
    "f64x2.neg v128 v128",
    "f64x2.abs v128 v128",
    "f64x2.ge v128 v128 v128",
    "f64x2.splat v128 f64",
    "f64x2.replace_lane:0 v128 v128 f64",
    "f64x2.promote_low_f32x4 v128 v128",
    "i32x4.trunc_sat_f32x4_s v128 v128",
    "f32x4.convert_i32x4_s v128 v128",
    "v128.xor v128 v128 v128",
    "v128.bitselect v128 v128 v128 v128",
    "i32x4.add v128 v128 v128",
];

/// Floats that make NaNs, are NaNs, or neither; as the text format has them.
const FLOATS: [&str; 8] = ["0", "-0", "inf", "-inf", "1.5", "-2", "nan", "-nan"];

const TYPES: [&str; 5] = ["i32", "i64", "f32", "f64", "v128"];
const LOCALS_EACH: usize = 2;
/// Functions of one float to one, and of two: their number, parameters and result.
const HELPERS: [(&[&str], &str); 5] = [
    (&["f32"], "f32"),
    (&["f64"], "f64"),
    (&["v128"], "v128"),
    (&["f32", "f64"], "f64"),
    (&["f64"], "f64"),
];
const STORES: usize = 40;
const DEPTH: u32 = 4;

/// A module that exports `memory` and `run: [] -> []`, which ends soon and never traps.
pub(crate) fn random(rng: &mut Rng) -> Vec<u8> {
    let mut writer = Writer { rng, calls: false };
    let mut text = String::from(
        "(module (memory (export \"memory\") 1) (tag $f64 (param f64)) (tag $v128 (param v128 f32))\n",
    );
    for ty in TYPES {
        text += &format!("(global $g{ty} (mut {ty}) ({}))\n", zero(ty));
    }
    text += "(table funcref (elem $h0 $h1 $h2 $h3 $h4))\n";
    for (n, (params, result)) in HELPERS.iter().enumerate() {
        text += &format!(
            "(type $t{n} (func (param {}) (result {result})))\n",
            params.join(" ")
        );
        let names = (0..params.len()).map(|p| (params[p], format!("$p{p}")));
        let stores = names
            .map(|(ty, name)| format!("(local.set ${ty}0 (local.get {name}))"))
            .collect::<String>();
        let body = writer.expression(result, DEPTH);
        let params = (0..params.len())
            .map(|p| format!("(param $p{p} {})", params[p]))
            .collect::<String>();
        text += &format!(
            "(func $h{n} {params} (result {result}) {} {stores} {body})\n",
            locals()
        );
    }
    writer.calls = true;
    text += &format!("(func (export \"run\") {}\n", locals());
    for n in 0..STORES {
        let ty = TYPES[writer.rng.index(TYPES.len())];
        let value = writer.expression(ty, DEPTH);
        text += &match writer.rng.below(4) {
            0 => format!(
                "(local.set ${ty}{} {value})\n",
                writer.rng.index(LOCALS_EACH)
            ),
            1 => format!("(global.set $g{ty} {value})\n"),
            _ => format!("({ty}.store (i32.const {}) {value})\n", n * 16),
        };
    }
    text += "))";
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

struct Writer<'a> {
    rng: &'a mut Rng,
    /// May it call the helpers?
    calls: bool,
}

impl Writer<'_> {
    fn expression(&mut self, ty: &str, depth: u32) -> String {
        if depth == 0 {
            return self.leaf(ty);
        }
        match self.rng.below(16) {
            0 => self.leaf(ty),
            1..=5 => self.control(ty, depth - 1),
            _ => self.operator(ty, depth - 1),
        }
    }

    fn operator(&mut self, ty: &str, depth: u32) -> String {
        let result = |text: &str| text.split(' ').nth(1) == Some(ty);
        let fitting = OPERATORS
            .iter()
            .filter(|text| result(text))
            .collect::<Vec<_>>();
        let mut words = fitting[self.rng.index(fitting.len())].split(' ');
        let name = words.next().expect("it has a name").replace(':', " ");
        let operands = words.skip(1).map(|ty| self.expression(ty, depth));
        format!("({name} {})", operands.collect::<Vec<_>>().join(" "))
    }

    /// What moves a value of this type through something.
    fn control(&mut self, ty: &str, depth: u32) -> String {
        let value = self.expression(ty, depth);
        match self.rng.below(9) {
            0 => {
                let (other, condition) = (self.expression(ty, depth), self.condition(depth));
                format!("(select {value} {other} {condition})")
            }
            1 => {
                let (other, condition) = (self.expression(ty, depth), self.condition(depth));
                format!("(if (result {ty}) {condition} (then {value}) (else {other}))")
            }
            2 => {
                let (other, condition) = (self.expression(ty, depth), self.condition(depth));
                format!("(block (result {ty}) (drop (br_if 0 {value} {condition})) {other})")
            }
            3 => {
                let (other, index) = (self.expression(ty, depth), self.condition(depth));
                format!(
                    "(block (result {ty}) (block (result {ty}) (br_table 0 1 0 {value} {index})) drop {other})"
                )
            }
            4 => {
                // Three times around, through the parameter and a local.
                let other = self.expression(ty, depth.min(1));
                let join = match ty {
                    "v128" => "f64x2.add",
                    "f32" => "f32.add",
                    "f64" => "f64.sub",
                    _ => "select (i32.const 1)",
                };
                let join = if ty == "v128" || ty.starts_with('f') {
                    format!("({join} {other})")
                } else {
                    format!("{other} (drop)")
                };
                format!(
                    "(block (result {ty}) (local.set $again (i32.const 3)) {value} \
                     (loop (param {ty}) (result {ty}) (local.set ${ty}1) (local.get ${ty}1) {join} \
                     (local.tee $again (i32.sub (local.get $again) (i32.const 1))) \
                     (br_if 0 (i32.gt_s (i32.const 0)))))"
                )
            }
            5 if ty == "f64" => format!(
                "(block $caught (result f64) (try_table (result f64) (catch $f64 $caught) (throw $f64 {value})))"
            ),
            5 if ty == "v128" => {
                let other = self.expression("f32", depth);
                format!(
                    "(block (result v128) (block $caught (result v128 f32) \
                     (try_table (result v128 f32) (catch $v128 $caught) (throw $v128 {value} {other}))) \
                     (drop))"
                )
            }
            5 | 6 if self.calls => {
                let fitting = (0..HELPERS.len())
                    .filter(|&n| HELPERS[n].1 == ty)
                    .collect::<Vec<_>>();
                if fitting.is_empty() {
                    return value;
                }
                let n = fitting[self.rng.index(fitting.len())];
                let mut arguments = String::new();
                for param in HELPERS[n].0 {
                    arguments += &self.expression(param, depth);
                }
                if self.rng.below(2) == 0 {
                    format!("(call $h{n} {arguments})")
                } else {
                    format!("(call_indirect (type $t{n}) {arguments} (i32.const {n}))")
                }
            }
            7 => {
                let at = self.rng.index(LOCALS_EACH);
                format!("(local.tee ${ty}{at} {value})")
            }
            _ => format!("(block (result {ty}) (global.set $g{ty} {value}) (global.get $g{ty}))"),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        self.expression("i32", depth.min(2))
    }

    fn leaf(&mut self, ty: &str) -> String {
        match self.rng.below(6) {
            0..=1 => format!("(local.get ${ty}{})", self.rng.index(LOCALS_EACH)),
            2 => format!("(global.get $g{ty})"),
            3 => format!("({ty}.load (i32.const {}))", self.rng.index(STORES) * 16),
            _ => self.constant(ty),
        }
    }

    fn constant(&mut self, ty: &str) -> String {
        match ty {
            // Sometimes the bits of a signalling NaN.
            "i32" => format!("(i32.const {})", [0, 1, 2, 0x7fa0_1234][self.rng.index(4)]),
            "i64" => format!(
                "(i64.const {})",
                [0_i64, 1, -1, 0x7ff4_0000_0000_1234][self.rng.index(4)]
            ),
            "v128" => {
                let lanes = (0..4)
                    .map(|_| self.float("nan:0x200001"))
                    .collect::<Vec<_>>();
                format!("(v128.const f32x4 {})", lanes.join(" "))
            }
            "f32" => format!("(f32.const {})", self.float("-nan:0x200001")),
            _ => format!("(f64.const {})", self.float("nan:0x4000000000001")),
        }
    }

    fn float(&mut self, payload: &'static str) -> &'static str {
        FLOATS
            .get(self.rng.index(FLOATS.len() + 1))
            .copied()
            .unwrap_or(payload)
    }
}

fn locals() -> String {
    let of = |ty: &str| {
        (0..LOCALS_EACH)
            .map(|n| format!("(local ${ty}{n} {ty})"))
            .collect::<String>()
    };
    TYPES.map(of).join("") + "(local $again i32)"
}

fn zero(ty: &str) -> String {
    match ty {
        "v128" => "v128.const i64x2 0 0".into(),
        ty => format!("{ty}.const 0"),
    }
}
