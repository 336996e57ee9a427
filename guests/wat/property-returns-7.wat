;; A property returns what the contract does not have.
;; expect: harness-error 7
(module
  (memory (export "memory") 1)
  (func (export "sandglass_property") (result i32)
    (i32.const 7))
)
