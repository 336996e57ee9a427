;; Counts runs in a global; 7 when a run sees another's count.
;; expect: valid
(module
  (memory (export "memory") 1)
  (global $i32 (mut i32) (i32.const 5))
  (global $i64 (mut i64) (i64.const -1))
  (global $f64 (mut f64) (f64.const 1.5))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.ne (global.get $i32) (i32.const 5)) (then (return (i32.const 7))))
    (if (i64.ne (global.get $i64) (i64.const -1)) (then (return (i32.const 7))))
    (if (f64.ne (global.get $f64) (f64.const 1.5)) (then (return (i32.const 7))))
    (global.set $i32 (i32.const 6))
    (global.set $i64 (i64.const 0))
    (global.set $f64 (f64.const 2.5))
    i32.const 0)
)
