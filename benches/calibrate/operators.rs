//! One small function per operator, and a control without it.
//!
//! Operands come in parameters and the result goes to a global, so what is counted is the operator and
//! neither moves nor prologues; both functions begin with a load, for in most functions the base of
//! memory is in a register already. Comparisons of numbers are measured as the condition of a branch, where most of
//! them are: the branch has to look at something in any case, and by themselves they are two instructions more.

/// A pair of functions that differ by one operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    /// The operator as text.
    pub(crate) text: String,
    /// Types of the parameters of both.
    pub(crate) params: Vec<&'static str>,
    /// The body of the function with the operator.
    pub(crate) with: String,
    /// The body of the one without.
    pub(crate) without: String,
}

/// The module that the functions are in: `(func $f …)` for each body goes where the mark is.
pub(crate) const MODULE: &str = r#"(module
  (type $s (func (param i32 i32) (result i32)))
  (memory 1)
  (table $t 8 8 funcref)
  (table $x 8 8 externref)
  (data $d "data")
  (elem $m funcref (ref.func $empty))
  (tag $e)
  (global $i32 (mut i32) (i32.const 0))
  (global $i64 (mut i64) (i64.const 0))
  (global $f32 (mut f32) (f32.const 0))
  (global $f64 (mut f64) (f64.const 0))
  (global $v128 (mut v128) (v128.const i64x2 0 0))
  (global $funcref (mut funcref) (ref.null func))
  (global $externref (mut externref) (ref.null extern))
  (global $more (mut i32) (i32.const 0))
  (global $warm (mut i32) (i32.const 0))
  (func $empty (export "empty") (type $s) (local.get 0))
  ;;functions
)"#;

/// Operands, result, and operators, separated by commas.
const PLAIN: &[(&[&str], Option<&str>, &str)] = &[
    (
        &["i32", "i32"],
        Some("i32"),
        "i32.eq, i32.ne, i32.lt_s, i32.lt_u, i32.gt_s, i32.gt_u, i32.le_s, i32.le_u, i32.ge_s, i32.ge_u,
         i32.add, i32.sub, i32.mul, i32.div_s, i32.div_u, i32.rem_s, i32.rem_u, i32.and, i32.or, i32.xor,
         i32.shl, i32.shr_s, i32.shr_u, i32.rotl, i32.rotr",
    ),
    (
        &["i64", "i64"],
        Some("i64"),
        "i64.add, i64.sub, i64.mul, i64.div_s, i64.div_u, i64.rem_s, i64.rem_u, i64.and, i64.or, i64.xor,
         i64.shl, i64.shr_s, i64.shr_u, i64.rotl, i64.rotr",
    ),
    (
        &["i64", "i64"],
        Some("i32"),
        "i64.eq, i64.ne, i64.lt_s, i64.lt_u, i64.gt_s, i64.gt_u, i64.le_s, i64.le_u, i64.ge_s, i64.ge_u",
    ),
    (
        &["f32", "f32"],
        Some("i32"),
        "f32.eq, f32.ne, f32.lt, f32.gt, f32.le, f32.ge",
    ),
    (
        &["f64", "f64"],
        Some("i32"),
        "f64.eq, f64.ne, f64.lt, f64.gt, f64.le, f64.ge",
    ),
    (
        &["f32", "f32"],
        Some("f32"),
        "f32.add, f32.sub, f32.mul, f32.div, f32.min, f32.max, f32.copysign",
    ),
    (
        &["f64", "f64"],
        Some("f64"),
        "f64.add, f64.sub, f64.mul, f64.div, f64.min, f64.max, f64.copysign",
    ),
    (
        &["i32"],
        Some("i32"),
        "i32.eqz, i32.clz, i32.ctz, i32.popcnt, i32.extend8_s, i32.extend16_s, local.tee 0, memory.grow,
         i32.load offset=8, i32.load8_s offset=8, i32.load8_u offset=8, i32.load16_s offset=8, i32.load16_u offset=8",
    ),
    (
        &["i64"],
        Some("i64"),
        "i64.clz, i64.ctz, i64.popcnt, i64.extend8_s, i64.extend16_s, i64.extend32_s",
    ),
    (
        &["i32"],
        Some("i64"),
        "i64.extend_i32_s, i64.extend_i32_u, i64.load offset=8, i64.load8_s offset=8, i64.load8_u offset=8,
         i64.load16_s offset=8, i64.load16_u offset=8, i64.load32_s offset=8, i64.load32_u offset=8",
    ),
    (&["i64"], Some("i32"), "i64.eqz, i32.wrap_i64"),
    (
        &["f32"],
        Some("f32"),
        "f32.abs, f32.neg, f32.ceil, f32.floor, f32.trunc, f32.nearest, f32.sqrt",
    ),
    (
        &["f64"],
        Some("f64"),
        "f64.abs, f64.neg, f64.ceil, f64.floor, f64.trunc, f64.nearest, f64.sqrt",
    ),
    (
        &["f32"],
        Some("i32"),
        "i32.trunc_f32_s, i32.trunc_f32_u, i32.trunc_sat_f32_s, i32.trunc_sat_f32_u, i32.reinterpret_f32",
    ),
    (
        &["f64"],
        Some("i32"),
        "i32.trunc_f64_s, i32.trunc_f64_u, i32.trunc_sat_f64_s, i32.trunc_sat_f64_u",
    ),
    (
        &["f32"],
        Some("i64"),
        "i64.trunc_f32_s, i64.trunc_f32_u, i64.trunc_sat_f32_s, i64.trunc_sat_f32_u",
    ),
    (
        &["f64"],
        Some("i64"),
        "i64.trunc_f64_s, i64.trunc_f64_u, i64.trunc_sat_f64_s, i64.trunc_sat_f64_u, i64.reinterpret_f64",
    ),
    (
        &["i32"],
        Some("f32"),
        "f32.convert_i32_s, f32.convert_i32_u, f32.reinterpret_i32, f32.load offset=8",
    ),
    (
        &["i64"],
        Some("f32"),
        "f32.convert_i64_s, f32.convert_i64_u",
    ),
    (
        &["i32"],
        Some("f64"),
        "f64.convert_i32_s, f64.convert_i32_u, f64.load offset=8",
    ),
    (
        &["i64"],
        Some("f64"),
        "f64.convert_i64_s, f64.convert_i64_u, f64.reinterpret_i64",
    ),
    (&["f32"], Some("f64"), "f64.promote_f32"),
    (&["f64"], Some("f32"), "f32.demote_f64"),
    (
        &["i32", "i32"],
        None,
        "i32.store offset=8, i32.store8 offset=8, i32.store16 offset=8",
    ),
    (
        &["i32", "i64"],
        None,
        "i64.store offset=8, i64.store8 offset=8, i64.store16 offset=8, i64.store32 offset=8",
    ),
    (&["i32", "f32"], None, "f32.store offset=8"),
    (&["i32", "f64"], None, "f64.store offset=8"),
    (
        &[],
        Some("i32"),
        "local.get 0, i32.const 305419896, global.get $more, memory.size, table.size $t",
    ),
    (&[], Some("i64"), "i64.const 1311768467463790320"),
    (&[], Some("f32"), "f32.const 1.1"),
    (&[], Some("f64"), "f64.const 1.1"),
    (&[], Some("funcref"), "ref.null func, ref.func $empty"),
    (&["funcref"], Some("i32"), "ref.is_null"),
    (&["i32"], None, "global.set $more"),
    (
        &["i32", "i32", "i32"],
        Some("i32"),
        "select, select (result i32)",
    ),
    (
        &["i32", "i32", "i32"],
        None,
        "memory.fill, memory.copy, memory.init $d, table.copy $t $t, table.init $t $m",
    ),
    (&[], None, "data.drop $d, elem.drop $m"),
    (&["i32"], Some("funcref"), "table.get $t"),
    (&["i32", "funcref"], None, "table.set $t"),
    (&["i32", "funcref", "i32"], None, "table.fill $t"),
    (&["funcref", "i32"], Some("i32"), "table.grow $t"),
    // Vectors.
    (
        &["v128", "v128"],
        Some("v128"),
        "i8x16.swizzle, i8x16.eq, i8x16.ne, i8x16.lt_s, i8x16.lt_u, i8x16.gt_s, i8x16.gt_u, i8x16.le_s, i8x16.le_u,
         i8x16.ge_s, i8x16.ge_u, i16x8.eq, i16x8.ne, i16x8.lt_s, i16x8.lt_u, i16x8.gt_s, i16x8.gt_u, i16x8.le_s,
         i16x8.le_u, i16x8.ge_s, i16x8.ge_u, i32x4.eq, i32x4.ne, i32x4.lt_s, i32x4.lt_u, i32x4.gt_s, i32x4.gt_u,
         i32x4.le_s, i32x4.le_u, i32x4.ge_s, i32x4.ge_u, i64x2.eq, i64x2.ne, i64x2.lt_s, i64x2.gt_s, i64x2.le_s,
         i64x2.ge_s, f32x4.eq, f32x4.ne, f32x4.lt, f32x4.gt, f32x4.le, f32x4.ge, f64x2.eq, f64x2.ne, f64x2.lt,
         f64x2.gt, f64x2.le, f64x2.ge, v128.and, v128.andnot, v128.or, v128.xor, i8x16.narrow_i16x8_s,
         i8x16.narrow_i16x8_u, i8x16.add, i8x16.add_sat_s, i8x16.add_sat_u, i8x16.sub, i8x16.sub_sat_s,
         i8x16.sub_sat_u, i8x16.min_s, i8x16.min_u, i8x16.max_s, i8x16.max_u, i8x16.avgr_u, i16x8.q15mulr_sat_s,
         i16x8.narrow_i32x4_s, i16x8.narrow_i32x4_u, i16x8.add, i16x8.add_sat_s, i16x8.add_sat_u, i16x8.sub,
         i16x8.sub_sat_s, i16x8.sub_sat_u, i16x8.mul, i16x8.min_s, i16x8.min_u, i16x8.max_s, i16x8.max_u,
         i16x8.avgr_u, i16x8.extmul_low_i8x16_s, i16x8.extmul_high_i8x16_s, i16x8.extmul_low_i8x16_u,
         i16x8.extmul_high_i8x16_u, i32x4.add, i32x4.sub, i32x4.mul, i32x4.min_s, i32x4.min_u, i32x4.max_s,
         i32x4.max_u, i32x4.dot_i16x8_s, i32x4.extmul_low_i16x8_s, i32x4.extmul_high_i16x8_s,
         i32x4.extmul_low_i16x8_u, i32x4.extmul_high_i16x8_u, i64x2.add, i64x2.sub, i64x2.mul,
         i64x2.extmul_low_i32x4_s, i64x2.extmul_high_i32x4_s, i64x2.extmul_low_i32x4_u, i64x2.extmul_high_i32x4_u,
         f32x4.add, f32x4.sub, f32x4.mul, f32x4.div, f32x4.min, f32x4.max, f32x4.pmin, f32x4.pmax, f64x2.add,
         f64x2.sub, f64x2.mul, f64x2.div, f64x2.min, f64x2.max, f64x2.pmin, f64x2.pmax,
         i8x16.shuffle 0 17 2 19 4 21 6 23 8 25 10 27 12 29 14 31",
    ),
    (
        &["v128"],
        Some("v128"),
        "v128.not, i8x16.abs, i8x16.neg, i8x16.popcnt, i16x8.extadd_pairwise_i8x16_s, i16x8.extadd_pairwise_i8x16_u,
         i16x8.abs, i16x8.neg, i16x8.extend_low_i8x16_s, i16x8.extend_high_i8x16_s, i16x8.extend_low_i8x16_u,
         i16x8.extend_high_i8x16_u, i32x4.extadd_pairwise_i16x8_s, i32x4.extadd_pairwise_i16x8_u, i32x4.abs,
         i32x4.neg, i32x4.extend_low_i16x8_s, i32x4.extend_high_i16x8_s, i32x4.extend_low_i16x8_u,
         i32x4.extend_high_i16x8_u, i64x2.abs, i64x2.neg, i64x2.extend_low_i32x4_s, i64x2.extend_high_i32x4_s,
         i64x2.extend_low_i32x4_u, i64x2.extend_high_i32x4_u, f32x4.ceil, f32x4.floor, f32x4.trunc, f32x4.nearest,
         f32x4.abs, f32x4.neg, f32x4.sqrt, f64x2.ceil, f64x2.floor, f64x2.trunc, f64x2.nearest, f64x2.abs, f64x2.neg,
         f64x2.sqrt, i32x4.trunc_sat_f32x4_s, i32x4.trunc_sat_f32x4_u, f32x4.convert_i32x4_s, f32x4.convert_i32x4_u,
         i32x4.trunc_sat_f64x2_s_zero, i32x4.trunc_sat_f64x2_u_zero, f64x2.convert_low_i32x4_s,
         f64x2.convert_low_i32x4_u, f32x4.demote_f64x2_zero, f64x2.promote_low_f32x4",
    ),
    (
        &["v128"],
        Some("i32"),
        "v128.any_true, i8x16.all_true, i8x16.bitmask, i16x8.all_true, i16x8.bitmask, i32x4.all_true, i32x4.bitmask,
         i64x2.all_true, i64x2.bitmask, i8x16.extract_lane_s 1, i8x16.extract_lane_u 1, i16x8.extract_lane_s 1,
         i16x8.extract_lane_u 1, i32x4.extract_lane 1",
    ),
    (&["v128"], Some("i64"), "i64x2.extract_lane 1"),
    (&["v128"], Some("f32"), "f32x4.extract_lane 1"),
    (&["v128"], Some("f64"), "f64x2.extract_lane 1"),
    (
        &["v128", "i32"],
        Some("v128"),
        "i8x16.shl, i8x16.shr_s, i8x16.shr_u, i16x8.shl, i16x8.shr_s, i16x8.shr_u, i32x4.shl, i32x4.shr_s,
         i32x4.shr_u, i64x2.shl, i64x2.shr_s, i64x2.shr_u, i8x16.replace_lane 1, i16x8.replace_lane 1,
         i32x4.replace_lane 1",
    ),
    (&["v128", "i64"], Some("v128"), "i64x2.replace_lane 1"),
    (&["v128", "f32"], Some("v128"), "f32x4.replace_lane 1"),
    (&["v128", "f64"], Some("v128"), "f64x2.replace_lane 1"),
    (
        &["i32"],
        Some("v128"),
        "i8x16.splat, i16x8.splat, i32x4.splat, v128.load offset=8, v128.load8x8_s offset=8, v128.load8x8_u offset=8,
         v128.load16x4_s offset=8, v128.load16x4_u offset=8, v128.load32x2_s offset=8, v128.load32x2_u offset=8,
         v128.load8_splat offset=8, v128.load16_splat offset=8, v128.load32_splat offset=8,
         v128.load64_splat offset=8, v128.load32_zero offset=8, v128.load64_zero offset=8",
    ),
    (&["i64"], Some("v128"), "i64x2.splat"),
    (&["f32"], Some("v128"), "f32x4.splat"),
    (&["f64"], Some("v128"), "f64x2.splat"),
    (
        &["i32", "v128"],
        Some("v128"),
        "v128.load8_lane offset=8 1, v128.load16_lane offset=8 1, v128.load32_lane offset=8 1,
         v128.load64_lane offset=8 1",
    ),
    (
        &["i32", "v128"],
        None,
        "v128.store offset=8, v128.store8_lane offset=8 1, v128.store16_lane offset=8 1,
         v128.store32_lane offset=8 1, v128.store64_lane offset=8 1",
    ),
    (&["v128", "v128", "v128"], Some("v128"), "v128.bitselect"),
    (
        &[],
        Some("v128"),
        "v128.const i64x2 1311768467463790320 81985529216486895",
    ),
];

/// Operators that need a form of their own: with and without, of three parameters of type `i32`. Calls
/// are counted as what a second one adds.
const SPECIAL: &[(&str, &str, &str)] = &[
    (
        "local.set",
        "(local.set 0 (local.get 1)) (global.set $i32 (local.get 0))",
        "(global.set $i32 (local.get 0))",
    ),
    ("br", "(block $a (br $a))", ""),
    (
        "br_if",
        "(block $a (br_if $a (local.get 0)) (global.set $i32 (local.get 1)))",
        "(global.set $i32 (local.get 1))",
    ),
    (
        "if",
        "(if (local.get 0) (then (global.set $i32 (local.get 1))))",
        "(global.set $i32 (local.get 1))",
    ),
    (
        "br_table",
        "(block $a (block $b (block $c (br_table $c $b $c $b $a (local.get 0))) (global.set $i32 (local.get 1))) (global.set $more (local.get 2)))",
        "",
    ),
    ("return", "return", ""),
    (
        "call",
        "(global.set $i32 (call $empty (local.get 0) (local.get 1))) (global.set $i32 (call $empty (local.get 1) (local.get 2)))",
        "(global.set $i32 (call $empty (local.get 0) (local.get 1))) (global.set $i32 (local.get 2))",
    ),
    (
        "call_indirect",
        "(global.set $i32 (call_indirect $t (type $s) (local.get 0) (local.get 1) (local.get 2))) (global.set $i32 (call_indirect $t (type $s) (local.get 1) (local.get 2) (local.get 0)))",
        "(global.set $i32 (call_indirect $t (type $s) (local.get 0) (local.get 1) (local.get 2))) (global.set $i32 (local.get 2))",
    ),
];

/// What calls a function pays for its frame, too: the instructions of an empty one.
pub(crate) const CALLS: &[&str] = &["call", "call_indirect"];

/// All pairs of functions.
pub(crate) fn templates() -> Vec<Template> {
    let mut all = Vec::new();
    for (operands, result, texts) in PLAIN {
        for text in texts.split(',').map(str::trim) {
            let mut params = operands.to_vec();
            let get = |at: usize| format!("(local.get {at}) ");
            let operands: String = (0..operands.len()).map(get).collect();
            let (with, without) = match result {
                None => (format!("{operands}{text}"), String::new()),
                Some(_) if is_condition(text) => {
                    params.push("i32");
                    let last = get(params.len() - 1);
                    let then = format!("if (global.set $i32 {last}) end");
                    (format!("{operands}{text} {then}"), format!("{last} {then}"))
                }
                Some(result) => {
                    params.push(result);
                    let set = format!("(global.set ${result}");
                    let last = get(params.len() - 1);
                    (
                        format!("{operands}{text} global.set ${result}"),
                        format!("{set} {last})"),
                    )
                }
            };
            all.push(Template {
                text: text.to_owned(),
                params,
                with,
                without,
            });
        }
    }
    all.extend(SPECIAL.iter().map(|(text, with, without)| Template {
        text: (*text).to_owned(),
        params: vec!["i32"; 3],
        with: (*with).to_owned(),
        without: (*without).to_owned(),
    }));
    all
}

/// Is it a comparison of numbers?
fn is_condition(text: &str) -> bool {
    let compares = ["eq", "eqz", "ne", "lt", "gt", "le", "ge"];
    let scalars = ["i32", "i64", "f32", "f64"];
    let (ty, name) = text.split_once('.').unwrap_or_default();
    let name = name.split('_').next().unwrap_or_default();
    scalars.contains(&ty) && compares.contains(&name)
}
