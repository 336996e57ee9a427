;; Endless recursion of one function.
;; expect: stack-overflow
(module
  (memory (export "memory") 1)
  (func $down (param $n i32) (result i32)
    (i32.add (call $down (i32.add (local.get $n) (i32.const 1))) (i32.const 1)))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (call $down (local.get $len)))
)
