;; Calls exit(3) in LLVMFuzzerInitialize.
;; expect: setup exit 3
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerInitialize") (param i32 i32) (result i32)
    (call $exit (i32.const 3))
    i32.const 0)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 0)
)
