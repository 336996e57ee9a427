;; Valid when the first byte equals the length: for tests of input placement and of empty inputs.
;; input: 
;; expect: invalid
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.eqz (local.get $len)) (then (return (i32.const -1))))
    (select (i32.const 0) (i32.const -1) (i32.eq (i32.load8_u (local.get $ptr)) (local.get $len))))
)
