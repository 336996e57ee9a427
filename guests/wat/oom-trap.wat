;; Grows memory until it is refused, then traps, as an allocator does that cannot return null.
;; expect: oom
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (loop $again
      (br_if $again (i32.ne (memory.grow (i32.const 64)) (i32.const -1))))
    unreachable)
)
