;; build: edges
;; Bulk operators are charged for their size, after they have worked.
(module
  (memory 1)
  (table 2 funcref)
  (func (param i32)
    i32.const 16
    i32.const 0
    local.get 0
    memory.fill
    i32.const 0
    i32.const 64
    local.get 0
    memory.copy
    i32.const 0
    ref.null func
    local.get 0
    table.fill 0))
