;; Uses a passive data segment and drops it; a run whose segment was already dropped traps out of bounds.
;; expect: valid
(module
  (memory (export "memory") 1)
  (data $d "sandglass")
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (memory.init $d (i32.const 1024) (i32.const 0) (i32.const 9))
    (data.drop $d)
    (i32.ne (i32.load8_u (i32.const 1024)) (i32.const 0x73)))
)
