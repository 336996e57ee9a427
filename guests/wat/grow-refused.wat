;; Grows memory until it is refused, and copes.
;; expect: valid
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (loop $again
      (br_if $again (i32.ne (memory.grow (i32.const 64)) (i32.const -1))))
    i32.const 0)
)
