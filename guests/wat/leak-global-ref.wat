;; Changes globals that hold references and a vector.
;; expect: valid
(module
  (memory (export "memory") 1)
  (global $f (mut funcref) (ref.null func))
  (global $v (mut v128) (v128.const i64x2 1 2))
  (elem declare func $some)
  (func $some)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.eqz (ref.is_null (global.get $f))) (then (return (i32.const 7))))
    (if (i64.ne (i64x2.extract_lane 1 (global.get $v)) (i64.const 2)) (then (return (i32.const 7))))
    (global.set $f (ref.func $some))
    (global.set $v (v128.const i64x2 3 4))
    i32.const 0)
)
