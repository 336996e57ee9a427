;; A generator has a label outside of its memory.
;; expect: generator out-of-bounds
(module
  (import "sandglass" "label" (func $label (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (drop (call $label (i32.const 65536) (i32.const 1))))
)
