;; Writes to the first, a middle and the last page of memory; 7 when one of the words was kept.
;; expect: valid
(module
  (memory (export "memory") 8)
  (data (i32.const 128) "\2a\00\00\00")
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.ne (i32.load (i32.const 128)) (i32.const 42)) (then (return (i32.const 7))))
    (if (i32.load (i32.const 262144)) (then (return (i32.const 7))))
    (if (i32.load (i32.const 524284)) (then (return (i32.const 7))))
    (i32.store (i32.const 128) (i32.const 43))
    (i32.store (i32.const 262144) (i32.const 1))
    (i32.store (i32.const 524284) (i32.const 1))
    i32.const 0)
)
