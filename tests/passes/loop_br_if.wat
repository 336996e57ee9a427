;; build: edges
;; A loop that calls nothing: the budget lies in a local.
(module
  (func (param i32) (result i32)
    loop $l
      local.get 0
      i32.const 1
      i32.sub
      local.tee 0
      br_if $l
    end
    local.get 0))
