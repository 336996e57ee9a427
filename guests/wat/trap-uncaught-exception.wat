;; Throws, and nobody catches.
;; expect: trap uncaught-exception
(module
  (memory (export "memory") 1)
  (tag $boom (param i32))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 1
    throw $boom)
)
