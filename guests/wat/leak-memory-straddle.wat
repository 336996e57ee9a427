;; Unaligned stores across page boundaries; both pages must come back.
;; expect: valid
(module
  (memory (export "memory") 2)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (i64.ne (i64.load (i32.const 65532)) (i64.const 0)) (then (return (i32.const 7))))
    (if (i64.ne (i64.load (i32.const 4093)) (i64.const 0)) (then (return (i32.const 7))))
    (i64.store (i32.const 65532) (i64.const -1))
    (i64.store (i32.const 4093) (i64.const -1))
    i32.const 0)
)
