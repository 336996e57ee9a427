;; A generator draws nothing, without end.
;; expect: overrun
(module
  (import "sandglass" "draw_bytes" (func $bytes (param i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (loop $again
      (drop (call $bytes (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
      (br $again)))
)
