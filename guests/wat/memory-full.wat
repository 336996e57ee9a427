;; A memory that cannot grow: the input must find a place all the same, and growing must still be refused.
;; expect: valid
(module
  (memory (export "memory") 2 2)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1)) (then (return (i32.const 7))))
    (select (i32.const 0) (i32.const 7) (i32.eqz (i32.load (i32.const 70000)))))
)
