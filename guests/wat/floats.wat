;; A logistic map of 2,000 steps; the bits of the result are fixed by IEEE 754.
;; expect: valid
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (local $x f64) (local $i i32)
    (local.set $x (f64.const 0.5))
    (loop $again
      ;; x = 3.75 x (1 - x): all constants are exact, every step rounds once per operation.
      (local.set $x (f64.mul (f64.mul (f64.const 3.75) (local.get $x)) (f64.sub (f64.const 1) (local.get $x))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (i32.const 2000))))
    (i64.store (i32.const 512) (i64.reinterpret_f64 (local.get $x)))
    (i64.ne (i64.load (i32.const 512)) (i64.const 0x3fe4d2974230a4e0)))
)
