;; build: edges
;; A tail call gives its depth back first; it is a cycle, so its entry spends.
(module
  (type $t (func (param i32) (result i32)))
  (table 1 funcref)
  (elem (i32.const 0) $f)
  (func $f (type $t)
    local.get 0
    if (result i32)
      local.get 0
      i32.const 1
      i32.sub
      return_call $f
    else
      i32.const 0
      i32.const 0
      return_call_indirect (type $t)
    end))
