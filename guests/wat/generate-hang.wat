;; A generator never ends.
;; expect: generator hang
(module
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (loop $again (br $again)))
)
