/* Included before every C file of Lua, for the host and for the guest: numbers as scripts of Lua 5.1
   know them. */
#ifndef TARN_NUMBER_H
#define TARN_NUMBER_H

/* A float that is given where a whole number belongs is rounded down, as in `s:sub(1, #s / 2)`; by
   itself Lua 5.4 raises an error. */
#define LUA_FLOORN2I F2Ifloor

/* A float is written in its shortest exact form and without ".0" (src/float_text.rs). Lua's own
   configuration comes first, as each of its files would include it, so that its macro can be replaced. */
#if __has_include("luaconf.h")
#define LUA_CORE
#define LUA_LIB
#include "luaconf.h"

/* Writes the text and returns its length. The byte after it is no digit and no zero: from that Lua sees
   that ".0" is not to be added. */
int tarn_float_text(double value, char *to);

#undef lua_number2str
#define lua_number2str(s, sz, n) tarn_float_text((n), (s))
#endif

#endif
