;; A generator closes spans that nobody opened, and leaves others open.
;; expect: valid
(module
  (import "sandglass" "span_open" (func $open (param i32)))
  (import "sandglass" "span_close" (func $close (param i32)))
  (import "sandglass" "emit" (func $emit (param i32 i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (call $close (i32.const 0))
    (call $open (i32.const 1))
    (call $open (i32.const 2))
    (call $close (i32.const 1))
    (call $emit (i32.const 0) (i32.const 1)))
)
