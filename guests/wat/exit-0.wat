;; A reactor that calls exit(0): not a crash, and not the end of the campaign.
;; expect: exit 0
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (call $exit (i32.const 0))
    unreachable)
)
