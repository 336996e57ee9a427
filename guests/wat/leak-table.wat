;; Changes slots of a table with table.set, table.fill, table.copy; 7 when one was kept.
;; expect: valid
(module
  (memory (export "memory") 1)
  (type $f (func (result i32)))
  (table $t 8 8 funcref)
  (elem (table $t) (i32.const 0) func $zero $seven)
  (func $zero (type $f) i32.const 0)
  (func $seven (type $f) i32.const 7)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (local $r i32)
    (local.set $r (call_indirect $t (type $f) (i32.const 0)))
    (if (i32.eqz (ref.is_null (table.get $t (i32.const 7)))) (then (return (i32.const 7))))
    (table.set $t (i32.const 0) (ref.func $seven))
    (table.fill $t (i32.const 4) (ref.func $zero) (i32.const 2))
    (table.copy $t $t (i32.const 6) (i32.const 4) (i32.const 2))
    local.get $r)
)
