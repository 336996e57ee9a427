;; Recursion 5,000 deep and back: below the default limit of 10,000.
;; expect: valid
(module
  (memory (export "memory") 1)
  (func $down (param $n i32) (result i32)
    (if (result i32) (local.get $n)
      (then (i32.add (call $down (i32.sub (local.get $n) (i32.const 1))) (i32.const 1)))
      (else (i32.const 0))))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (i32.sub (call $down (i32.const 5000)) (i32.const 5000)))
)
