;; A bulk write that begins inside memory and ends outside; nothing may be written.
;; expect: trap out-of-bounds
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 65530
    i32.const 65
    i32.const 0x7fffffff
    memory.fill
    i32.const 0)
)
