;; A command: opens the file that its first argument names (@@) and traps when it begins with !.
;; args: @@
;; input: !boom
;; expect: trap unreachable
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func $strlen (param $s i32) (result i32)
    (local $n i32)
    (block $end
      (loop $again
        (br_if $end (i32.eqz (i32.load8_u (i32.add (local.get $s) (local.get $n)))))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br $again)))
    local.get $n)
  (func (export "_start")
    (local $path i32)
    (drop (call $sizes (i32.const 0) (i32.const 4)))
    (if (i32.lt_u (i32.load (i32.const 0)) (i32.const 2)) (then (call $exit (i32.const 2))))
    (drop (call $args (i32.const 64) (i32.const 1024)))
    (local.set $path (i32.load (i32.const 68)))
    ;; A leading slash is taken off, as libc does for a preopened root.
    (if (i32.eq (i32.load8_u (local.get $path)) (i32.const 0x2f))
      (then (local.set $path (i32.add (local.get $path) (i32.const 1)))))
    ;; Right 2 is fd_read.
    (if (call $open (i32.const 3) (i32.const 1) (local.get $path) (call $strlen (local.get $path))
          (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 8))
      (then (call $exit (i32.const 3))))
    (i32.store (i32.const 16) (i32.const 8192))
    (i32.store (i32.const 20) (i32.const 16))
    (if (call $read (i32.load (i32.const 8)) (i32.const 16) (i32.const 1) (i32.const 24))
      (then (call $exit (i32.const 4))))
    (if (i32.eq (i32.load8_u (i32.const 8192)) (i32.const 0x21)) (then unreachable)))
)
