;; Rethrows an exception reference that is null.
;; expect: trap null-reference
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    ref.null exn
    throw_ref)
)
