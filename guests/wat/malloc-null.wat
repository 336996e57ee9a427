;; Its malloc has nothing to give: set-up cannot place the input.
;; expect: setup no-memory
(module
  (memory (export "memory") 1 1)
  (func (export "malloc") (param i32) (result i32) i32.const 0)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 0)
)
