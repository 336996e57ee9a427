;; A generator notes the same without end, and its notes are cut.
;; expect: generator hang
(module
  (import "sandglass" "note" (func $note (param i32 i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (loop $again
      (call $note (i32.const 0) (i32.const 1000))
      (br $again)))
)
