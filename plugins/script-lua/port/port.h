/* Included before every C file of the guest: the places where Lua asks its platform for something. */
#ifndef TARN_PORT_H
#define TARN_PORT_H

struct lua_State;

/* Errors leave through a WebAssembly exception (protect.s) instead of setjmp and longjmp: the body of
   a protected call is known to be `(*f)(L, ud)`, so a function can stand for it. */
void tarn_lua_throw(void) __attribute__((noreturn));
void tarn_lua_try(void (*f)(struct lua_State *, void *), struct lua_State *L, void *ud);
#define LUAI_THROW(L, c) tarn_lua_throw()
#define LUAI_TRY(L, c, a) tarn_lua_try(f, L, ud)
#define luai_jmpbuf int

/* The same source and rows give the same result: no seed comes from a clock or an address. */
#define luai_makeseed(L) 0x7a31u
#define l_randomizePivot() 0x5bd1e995u

/* There is no console. */
#define lua_writestring(s, l) ((void)0)
#define lua_writeline() ((void)0)
#define lua_writestringerror(s, p) ((void)0)

/* There is no locale. */
#define lua_getlocaledecpoint() '.'

/* Calls of C functions within one another. Each may take some 2 KiB of the 512 KiB stack that the host
   gives a guest by default. */
#define LUAI_MAXCCALLS 160

/* Last: it includes Lua's configuration, which takes what is defined above. */
#include "number.h"

#endif
