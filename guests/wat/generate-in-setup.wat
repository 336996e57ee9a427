;; A generator draws before the snapshot, where there is nobody to answer.
;; expect: setup bad-draw
(module
  (import "sandglass" "draw_bool" (func $bool (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_setup")
    (drop (call $bool (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 2))))
  (func (export "sandglass_generate"))
)
