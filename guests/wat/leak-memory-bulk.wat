;; Writes by memory.fill, memory.copy and memory.init, far from each other.
;; expect: valid
(module
  (memory (export "memory") 16)
  (data $d "sandglass")
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.load8_u (i32.const 100000)) (then (return (i32.const 7))))
    (if (i32.load8_u (i32.const 300000)) (then (return (i32.const 7))))
    (if (i32.load8_u (i32.const 700000)) (then (return (i32.const 7))))
    (memory.fill (i32.const 100000) (i32.const 0xaa) (i32.const 9000))
    (memory.copy (i32.const 300000) (i32.const 100000) (i32.const 9000))
    (memory.init $d (i32.const 700000) (i32.const 0) (i32.const 9))
    i32.const 0)
)
