;; A generator draws at least three bytes and at most two.
;; expect: generator bad-draw
(module
  (import "sandglass" "draw_bytes" (func $bytes (param i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (drop (call $bytes (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 3) (i32.const 2))))
)
