// Interprets bytecode: a stack machine with a switch in a loop, which counts primes with a sieve and computes
// Fibonacci numbers by recursion.
#include "bench.h"

enum { PUSH, ADD, SUB, LESS, JUMP, JUMP_IF_NOT, LOAD, STORE, GET, SET, CALL, RETURN, ARGUMENT, OUT, HALT };

// Every operand is one cell.
static const int sieve[] = {
    PUSH, 0, SET, 1,                                  // count = 0
    PUSH, 2, SET, 0,                                  // i = 2
    /*8*/ GET, 0, PUSH, 4000, LESS, JUMP_IF_NOT, 60,  // while i < 4000
    /*15*/ GET, 0, LOAD, JUMP_IF_NOT, 22,             // if composite[i]
    JUMP, 51,                                         //   continue
    /*22*/ GET, 1, PUSH, 1, ADD, SET, 1,              // count++
    /*29*/ GET, 0, GET, 0, ADD, SET, 2,               // k = 2 i
    /*36*/ GET, 2, PUSH, 4000, LESS, JUMP_IF_NOT, 51, // while k < 4000
    /*43*/ PUSH, 1, GET, 2, STORE,                    //   composite[k] = 1
    /*48*/ JUMP, 64, HALT,                            //   (the step is out of line)
    /*51*/ GET, 0, PUSH, 1, ADD, SET, 0,              // i++
    /*58*/ JUMP, 8,
    /*60*/ GET, 1, OUT, HALT,
    /*64*/ GET, 2, GET, 0, ADD, SET, 2, JUMP, 36,     // k += i
};
static const int fibonacci[] = {
    PUSH, 17, CALL, 6, OUT, HALT,
    /*6*/ ARGUMENT, PUSH, 2, LESS, JUMP_IF_NOT, 14, ARGUMENT, RETURN,
    /*14*/ ARGUMENT, PUSH, 1, SUB, CALL, 6, ARGUMENT, PUSH, 2, SUB, CALL, 6, ADD, RETURN,
};

static int memory[4096], globals[8], stack[1024];
static struct { int pc, argument; } frames[256];

static __attribute__((noinline)) void run(const int *code) {
  int *sp = stack, pc = 0, depth = 0, a;
  frames[0].argument = 0;
  for (;;) {
    switch (code[pc++]) {
    case PUSH: *sp++ = code[pc++]; break;
    case ADD: a = *--sp; sp[-1] += a; break;
    case SUB: a = *--sp; sp[-1] -= a; break;
    case LESS: a = *--sp; sp[-1] = sp[-1] < a; break;
    case JUMP: pc = code[pc]; break;
    case JUMP_IF_NOT: pc = *--sp ? pc + 1 : code[pc]; break;
    case LOAD: sp[-1] = memory[sp[-1] & 4095]; break;
    case STORE: a = *--sp; memory[a & 4095] = *--sp; break;
    case GET: *sp++ = globals[code[pc++]]; break;
    case SET: globals[code[pc++]] = *--sp; break;
    case CALL:
      frames[depth++].pc = pc + 1;
      frames[depth].argument = *--sp;
      pc = code[pc];
      break;
    case RETURN: pc = frames[--depth].pc; break;
    case ARGUMENT: *sp++ = frames[depth].argument; break;
    case OUT: mix((u64)*--sp); break;
    default: return;
    }
  }
}

EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  u32 n = rounds(&data, &size);
  for (u32 i = 0; i < n; i++) {
    for (u32 k = 0; k < 4096; k++) memory[k] = 0;
    run(sieve);
    run(fibonacci);
  }
  return 0;
}
