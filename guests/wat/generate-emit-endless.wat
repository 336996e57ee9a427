;; A generator emits more than an input may have.
;; expect: overrun
(module
  (import "sandglass" "emit" (func $emit (param i32 i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (loop $again
      (call $emit (i32.const 0) (i32.const 100))
      (br $again)))
)
