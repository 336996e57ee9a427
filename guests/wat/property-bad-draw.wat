;; A property draws an integer between 1 and 0.
;; expect: bad-draw
(module
  (import "sandglass" "draw_int" (func $int (param i32 i32 i64 i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "sandglass_property") (result i32)
    (i32.wrap_i64 (call $int (i32.const 0) (i32.const 0) (i64.const 1) (i64.const 0))))
)
