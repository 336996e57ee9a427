;; Divides by the first byte minus that of the letter z.
;; input: z
;; expect: trap divide-by-zero
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 100
    local.get $ptr
    i32.load8_u
    i32.const 0x7a ;; 'z'
    i32.sub
    i32.div_s
    drop
    i32.const 0)
)
