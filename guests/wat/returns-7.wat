;; Returns neither 0 nor -1, which a harness must not do.
;; expect: harness-error 7
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 7)
)
