;; Has no entry point.
;; expect: refused LLVMFuzzerTestOneInput
(module
  (memory (export "memory") 1)
  (func (export "run") (result i32) i32.const 0)
)
