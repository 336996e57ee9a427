;; An endless loop whose back edges are the slots of a br_table.
;; expect: hang
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (local $i i32)
    (block $out
      (loop $outer
        (loop $inner
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br_table $inner $outer $inner $outer (i32.and (local.get $i) (i32.const 7))))))
    i32.const 0)
)
