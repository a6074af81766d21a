/* Included before every C file of the engine in the guest. The engine bounds recursion by the stack that lies in the
   guest's memory, where it can read how deep it is. The machine's own stack holds the rest of each frame and cannot
   be read, and some functions call themselves with hardly anything in the guest's. Each function that looks at the
   depth therefore takes some more of it, which is its own until it returns. */
#ifndef TARN_STACK_H
#define TARN_STACK_H

static inline __attribute__((always_inline)) void *tarn_stack_here(void) {
  char room[256];
  __asm__ volatile("" : : "r"(room) : "memory");
  return room;
}

#define __builtin_frame_address(level) tarn_stack_here()

/* The parser looks only where it takes the next token, which is no part of its recursion, and a level of that is some
   sixteen frames of the machine's. So it leaves most of the stack (STACK_BYTES_MAX in src/config.rs). */
#define TARN_PARSER_ROOM_BYTES (344 << 10)

#endif
