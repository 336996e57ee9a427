;; Uses a shared memory and an atomic.
;; expect: refused threads
(module
  (memory (export "memory") 1 1 shared)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (i32.atomic.rmw.add (i32.const 0) (i32.const 1)))
)
