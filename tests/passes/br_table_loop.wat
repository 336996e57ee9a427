;; build: edges
;; A switch that can go back to a loop spends from the budget, whichever way it goes.
(module
  (func (param i32)
    loop $again
      block $out
        local.get 0
        br_table $again $out
      end
    end))
