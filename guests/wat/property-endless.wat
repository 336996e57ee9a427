;; A property draws without end.
;; expect: overrun
(module
  (import "sandglass" "draw_bool" (func $bool (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_property") (result i32)
    (loop $again
      (drop (call $bool (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 2)))
      (br $again))
    (i32.const 0))
)
