;; A command: its exit code is the first byte of stdin minus that of 0.
;; input: 3
;; expect: invalid
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 1024))
    (i32.store (i32.const 4) (i32.const 1))
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (if (i32.eqz (i32.load (i32.const 8))) (then (call $exit (i32.const 0))))
    (call $exit (i32.sub (i32.load8_u (i32.const 1024)) (i32.const 0x30))))
)
