;; A generator wants a string in a buffer that ends outside of its memory.
;; expect: generator out-of-bounds
(module
  (import "sandglass" "draw_string" (func $string (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (drop (call $string (i32.const 0) (i32.const 0) (i32.const 65530) (i32.const 7))))
)
