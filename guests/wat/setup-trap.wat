;; Traps in _initialize.
;; expect: setup trap unreachable
(module
  (memory (export "memory") 1)
  (func (export "_initialize") unreachable)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 0)
)
