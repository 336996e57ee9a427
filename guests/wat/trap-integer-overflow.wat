;; The one signed division that overflows.
;; expect: trap integer-overflow
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 0x80000000
    i32.const -1
    i32.div_s)
)
