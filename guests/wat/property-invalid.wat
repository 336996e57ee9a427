;; A property gets to stage 2 and finds its data invalid.
;; expect: invalid
(module
  (import "sandglass" "stage" (func $stage (param i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_property") (result i32)
    (call $stage (i32.const 2))
    (call $stage (i32.const 1))
    (i32.const -1))
)
