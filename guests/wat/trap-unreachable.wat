;; Traps in a function that the entry calls.
;; expect: trap unreachable
(module
  (memory (export "memory") 1)
  (func $inner unreachable)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    call $inner
    i32.const 0)
)
