;; Imports a draw that the contract does not have.
;; expect: refused draw_everything
(module
  (import "sandglass" "draw_everything" (func))
  (memory (export "memory") 1)
  (func (export "sandglass_generate"))
)
