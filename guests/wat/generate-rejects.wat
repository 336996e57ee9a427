;; A generator gives up: an assumption failed.
;; expect: rejected
(module
  (import "sandglass" "reject" (func $reject))
  (import "sandglass" "emit" (func $emit (param i32 i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (call $emit (i32.const 0) (i32.const 1))
    (call $reject)
    unreachable)
)
