;; Grows a table; 7 when the next run starts with the larger one.
;; expect: valid
(module
  (memory (export "memory") 1)
  (table $t 4 100 funcref)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.ne (table.size $t) (i32.const 4)) (then (return (i32.const 7))))
    (drop (table.grow $t (ref.null func) (i32.const 3)))
    i32.const 0)
)
