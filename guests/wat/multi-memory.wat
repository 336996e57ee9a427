;; State in a second memory; 7 when it was kept. The input is in the first, which is exported.
;; expect: valid
(module
  (memory $main (export "memory") 1)
  (memory $side 2)
  (data (memory $side) (i32.const 70000) "side")
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.load $side (i32.const 8)) (then (return (i32.const 7))))
    (if (i32.ne (i32.load8_u $side (i32.const 70000)) (i32.const 0x73)) (then (return (i32.const 7))))
    (i32.store $side (i32.const 8) (i32.const 1))
    (memory.copy $side $side (i32.const 70000) (i32.const 0) (i32.const 16))
    (memory.copy $side $main (i32.const 128) (local.get $ptr) (local.get $len))
    i32.const 0)
)
