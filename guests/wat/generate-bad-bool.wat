;; A generator draws a boolean of no cases at all.
;; expect: generator bad-draw
(module
  (import "sandglass" "draw_bool" (func $bool (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (drop (call $bool (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))
)
