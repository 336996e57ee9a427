;; build: fast
;; `memory.init` of a segment that start-up has copied traps. In a new instance that takes over a used memory,
;; for which there is no start-up, it would not: no instance takes over.
(module
  (memory (export "memory") 1)
  (data $active (i32.const 8) "hello")
  (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
    i32.const 64
    i32.const 0
    local.get 1
    memory.init $active
    i32.const 0))
