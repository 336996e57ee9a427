;; Grows memory by 30 pages; 7 when the next run starts with the larger memory (the host may add up to 20
;; for the input).
;; expect: valid
(module
  (memory (export "memory") 2 64)
  (global $pages (mut i32) (i32.const 0))
  (func (export "sandglass_setup") (global.set $pages (memory.size)))
  (func $size_is_kept (result i32)
    (i32.gt_u (memory.size) (i32.add (global.get $pages) (i32.const 20))))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (call $size_is_kept) (then (return (i32.const 7))))
    (drop (memory.grow (i32.const 30)))
    (i32.store8 (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 1)) (i32.const 1))
    i32.const 0)
)
