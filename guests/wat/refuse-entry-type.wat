;; The entry point has another type.
;; expect: refused [i32] -> []
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param i32))
)
