;; Leaves exception objects behind in every run; the heap that holds them must not fill up.
;; expect: valid
(module
  (memory (export "memory") 1)
  (tag $t (param i64 i64))
  (global $kept (mut exnref) (ref.null exn))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (local $i i32)
    (if (i32.eqz (ref.is_null (global.get $kept))) (then (return (i32.const 7))))
    (loop $again
      (block $caught (result exnref)
        (try_table (catch_all_ref $caught)
          (throw $t (i64.const 1) (i64.extend_i32_u (local.get $i))))
        unreachable)
      global.set $kept
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (i32.const 100))))
    i32.const 0)
)
