;; Uses a passive element segment and drops it; a run whose segment was already dropped traps.
;; expect: valid
(module
  (memory (export "memory") 1)
  (type $f (func (result i32)))
  (table $t 4 4 funcref)
  (elem $e func $zero)
  (func $zero (type $f) i32.const 0)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (table.init $t $e (i32.const 2) (i32.const 0) (i32.const 1))
    (elem.drop $e)
    (call_indirect $t (type $f) (i32.const 2)))
)
