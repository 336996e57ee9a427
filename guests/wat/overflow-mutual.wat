;; Endless recursion of two functions through a table.
;; expect: stack-overflow
(module
  (memory (export "memory") 1)
  (type $f (func (param i32) (result i32)))
  (table 2 funcref)
  (elem (i32.const 0) $ping $pong)
  (func $ping (type $f)
    (i32.add (call_indirect (type $f) (local.get 0) (i32.const 1)) (i32.const 1)))
  (func $pong (type $f)
    (i32.add (call_indirect (type $f) (local.get 0) (i32.const 0)) (i32.const 1)))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (call $ping (local.get $len)))
)
