;; A property gives up: an assumption failed.
;; expect: invalid
(module
  (import "sandglass" "reject" (func $reject))
  (memory (export "memory") 1)
  (func (export "sandglass_property") (result i32)
    (call $reject)
    unreachable)
)
