;; A generator opens spans without end.
;; expect: overrun
(module
  (import "sandglass" "span_open" (func $open (param i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (loop $again
      (call $open (i32.const 1))
      (br $again)))
)
