;; A property fails.
;; expect: trap unreachable
(module
  (import "sandglass" "draw_int" (func $int (param i32 i32 i64 i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "sandglass_property") (result i32)
    (if (i64.le_s (call $int (i32.const 0) (i32.const 0) (i64.const 0) (i64.const 9)) (i64.const 9)) (then unreachable))
    (i32.const 0))
)
