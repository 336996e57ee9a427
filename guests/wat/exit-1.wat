;; A reactor that calls exit(1).
;; expect: exit 1
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (call $exit (i32.const 1))
    unreachable)
)
