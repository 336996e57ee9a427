;; Wants 4 GiB of memory from the start.
;; expect: refused memory
(module
  (memory (export "memory") 65536)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 0)
)
