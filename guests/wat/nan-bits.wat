;; Makes NaNs in several ways and looks at their bits: they must be the canonical ones, positive, wherever
;; they can be seen, and NaNs that the guest has as bits must keep these.
;; expect: valid
;; (An engine that does not make NaNs canonical may answer 1 or 7.)
(module
  (memory (export "memory") 1)
  (func $is_canonical (param $bits i64) (result i32)
    (i64.eq (i64.and (local.get $bits) (i64.const 0x7fffffffffffffff)) (i64.const 0x7ff8000000000000)))
  (func $zero_over_zero (param $z f64) (result f64) (f64.div (local.get $z) (local.get $z)))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (local $n f64)
    (local.set $n (call $zero_over_zero (f64.const 0)))
    (if (i32.eqz (call $is_canonical (i64.reinterpret_f64 (local.get $n)))) (then (return (i32.const 7))))
    (f64.store (i32.const 256) (f64.sub (f64.const inf) (f64.const inf)))
    (if (i32.eqz (call $is_canonical (i64.load (i32.const 256)))) (then (return (i32.const 7))))
    ;; A payload survives a move, and not a sum.
    (i64.store (i32.const 256) (i64.const 0x7ff4000000001234))
    (f64.store (i32.const 264) (f64.load (i32.const 256)))
    (if (i64.ne (i64.load (i32.const 264)) (i64.const 0x7ff4000000001234)) (then (return (i32.const 8))))
    (f64.store (i32.const 264) (f64.add (f64.load (i32.const 256)) (f64.const 1)))
    (if (i64.ne (i64.load (i32.const 264)) (i64.const 0x7ff8000000000000)) (then (return (i32.const 9))))
    ;; A NaN and its negation have different signs.
    (if (i64.ge_s (i64.reinterpret_f64 (f64.neg (local.get $n))) (i64.const 0)) (then (return (i32.const 10))))
    (f64.store (i32.const 256) (f64.sqrt (f64.const -1)))
    ;; The sign too: 1 when it is set. A deterministic host always gives the same answer: the positive NaN.
    (i32.wrap_i64 (i64.shr_u (i64.load (i32.const 256)) (i64.const 63))))
)
