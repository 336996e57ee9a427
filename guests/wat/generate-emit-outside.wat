;; A generator emits what lies outside of its memory.
;; expect: generator out-of-bounds
(module
  (import "sandglass" "emit" (func $emit (param i32 i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (call $emit (i32.const -1) (i32.const 2)))
)
