;; build: fast
;; What a reset cannot undo sets a flag first.
(module
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem $e func)
  (data $d "x")
  (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
    elem.drop $e
    data.drop $d
    ref.null func
    i32.const 1
    table.grow 0
    i32.const 1
    memory.grow
    i32.add))
