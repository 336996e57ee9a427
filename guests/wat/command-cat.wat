;; A command: copies stdin to stdout, then ends.
;; input: hello
;; expect: valid
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (block $end
      (loop $again
        (i32.store (i32.const 0) (i32.const 1024))
        (i32.store (i32.const 4) (i32.const 4096))
        (br_if $end (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (br_if $end (i32.eqz (i32.load (i32.const 8))))
        (i32.store (i32.const 4) (i32.load (i32.const 8)))
        (br_if $end (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
        (br $again))))
)
