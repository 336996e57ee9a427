;; Loads from behind the end of memory.
;; expect: trap out-of-bounds
(module
  (memory (export "memory") 1 4)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const -4
    i32.load)
)
