;; A command: reads stdin into two buffers at once; traps when it was crash.
;; input: crash
;; expect: trap unreachable
;; (Our fd_read fills every buffer; POSIX allows a short read.)
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 1024))
    (i32.store (i32.const 4) (i32.const 2))
    (i32.store (i32.const 8) (i32.const 2048))
    (i32.store (i32.const 12) (i32.const 64))
    (if (call $read (i32.const 0) (i32.const 0) (i32.const 2) (i32.const 16)) (then (return)))
    (if (i32.ne (i32.load (i32.const 16)) (i32.const 5)) (then (return)))
    (if (i32.ne (i32.load16_u (i32.const 1024)) (i32.const 0x7263)) (then (return)))
    (if (i32.ne (i32.load16_u (i32.const 2048)) (i32.const 0x7361)) (then (return)))
    (if (i32.ne (i32.load8_u (i32.const 2050)) (i32.const 0x68)) (then (return)))
    unreachable)
)
