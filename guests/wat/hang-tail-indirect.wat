;; Two functions that tail-call each other through a table, for ever.
;; expect: hang
(module
  (memory (export "memory") 1)
  (type $f (func (param i32) (result i32)))
  (table 2 funcref)
  (elem (i32.const 0) $even $odd)
  (func $even (type $f)
    (return_call_indirect (type $f) (i32.add (local.get 0) (i32.const 2)) (i32.const 1)))
  (func $odd (type $f)
    (return_call_indirect (type $f) (i32.add (local.get 0) (i32.const 1)) (i32.const 0)))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (call $even (local.get $len)))
)
