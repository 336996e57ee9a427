;; An indirect call of a function of another type.
;; expect: trap bad-signature
(module
  (memory (export "memory") 1)
  (type $f (func (result i32)))
  (table 2 funcref)
  (elem (i32.const 0) $other)
  (func $other (param i32))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 0
    call_indirect (type $f))
)
