;; An indirect call through an empty table slot.
;; expect: trap null-reference
(module
  (memory (export "memory") 1)
  (type $f (func (result i32)))
  (table 2 funcref)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 1
    call_indirect (type $f))
)
