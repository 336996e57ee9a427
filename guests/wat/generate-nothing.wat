;; A generator returns without having emitted anything.
;; expect: no-input
(module
  (import "sandglass" "draw_int" (func $int (param i32 i32 i64 i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (drop (call $int (i32.const 0) (i32.const 0) (i64.const 0) (i64.const 9))))
)
