;; A reactor without a memory: there is no place for the input.
;; expect: refused memory
(module
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 0)
)
