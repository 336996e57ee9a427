;; build: fast
;; Numbers are saved in the side memory, references and written tables in tables beside.
(module
  (memory (export "memory") 1)
  (global $a (mut i32) (i32.const 1))
  (global $b (mut f64) (f64.const 2))
  (global $v (mut v128) (v128.const i64x2 3 4))
  (global $r (mut funcref) (ref.null func))
  (global $constant i32 (i32.const 5))
  (table $written 2 4 funcref)
  (table $read 2 externref)
  (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
    i32.const 0
    global.get $r
    table.set $written
    global.get $constant
    global.set $a
    global.get $a))
