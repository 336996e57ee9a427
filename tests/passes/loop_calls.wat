;; build: edges
;; One loop that calls, one that does not: the local budget is flushed before the call and loaded after it.
(module
  (func $f (param i32) (result i32)
    local.get 0)
  (func (param i32)
    loop $quiet
      local.get 0
      i32.const 1
      i32.sub
      local.tee 0
      br_if $quiet
    end
    loop $noisy
      local.get 0
      call $f
      br_if $noisy
    end))
