;; One of each branch: if, if/else, br_if, br_table, select, a loop; the byte chooses.
;; input: b
;; expect: valid
(module
  (memory (export "memory") 1)
  (func $pick (param $b i32) (result i32)
    (block $default
      (block $two
        (block $one
          (block $zero
            (br_table $zero $one $two $default (i32.and (local.get $b) (i32.const 7))))
          (return (i32.const 0)))
        (return (i32.const -1)))
      (return (select (i32.const 0) (i32.const -1) (i32.gt_u (local.get $b) (i32.const 64)))))
    i32.const 0)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (local $b i32)
    (if (local.get $len) (then (local.set $b (i32.load8_u (local.get $ptr)))))
    (if (i32.eq (local.get $b) (i32.const 0x61))
      (then (i32.store8 (i32.const 8) (i32.const 1)))
      (else (i32.store8 (i32.const 9) (i32.const 1))))
    (block $done
      (loop $down
        (br_if $done (i32.eqz (local.get $len)))
        (local.set $len (i32.sub (local.get $len) (i32.const 1)))
        (br $down)))
    (call $pick (local.get $b)))
)
