;; build: fast
;; Data segments and the start function wait for the host; other start-up calls are exports already.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1 2)
  (global $ready (mut i32) (i32.const 0))
  (data (i32.const 8) "hello")
  (data (offset (i32.add (i32.const 24) (i32.const 8))) "world")
  (data $passive "later")
  (start $start)
  (func $start
    i32.const 1
    global.set $ready)
  (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
    i32.const 0))
