;; Imports a draw with another type than the contract's.
;; expect: refused draw_int
(module
  (import "sandglass" "draw_int" (func (param i32) (result i64)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate"))
)
