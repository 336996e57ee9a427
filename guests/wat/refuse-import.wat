;; Imports a function that the sandbox does not have.
;; expect: refused env.host_call
(module
  (import "env" "host_call" (func $host (param i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (call $host (local.get $len)))
)
