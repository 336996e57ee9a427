;; A target that is given bytes says how far they got, and then gives up.
;; expect: invalid
(module
  (import "sandglass" "stage" (func $stage (param i32)))
  (import "sandglass" "reject" (func $reject))
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (call $stage (i32.const 300))
    (call $reject)
    unreachable)
)
