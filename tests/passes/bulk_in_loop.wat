;; build: edges
;; A local budget is flushed before a bulk operator and loaded once that is charged.
(module
  (memory 1)
  (memory $wide i64 1)
  (func (param i32)
    loop $l
      i32.const 0
      i32.const 1
      i32.const 4096
      memory.fill
      i64.const 0
      i32.const 1
      i64.const 4096
      memory.fill $wide
      local.get 0
      br_if $l
    end))
