;; Traps in the start function, before any export can be called.
;; expect: setup trap unreachable
(module
  (memory (export "memory") 1)
  (func $start unreachable)
  (start $start)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 0)
)
