# Protected calls. A Lua error is a WebAssembly exception without a payload: the error value is on the
# Lua stack. What lies between throw and catch are frames of C and Rust functions that hold nothing
# that must be dropped.

	.globaltype	__stack_pointer, i32
	.tagtype	tarn_lua_error
	.functype	tarn_lua_try (i32, i32, i32) -> ()
	.functype	tarn_lua_throw () -> ()

# void tarn_lua_try(void (*f)(lua_State *, void *), lua_State *L, void *ud)
	.section	.text.tarn_lua_try,"",@
	.globl	tarn_lua_try
	.type	tarn_lua_try,@function
tarn_lua_try:
	.functype	tarn_lua_try (i32, i32, i32) -> ()
	.local	i32
	global.get	__stack_pointer
	local.set	3
	block
	try_table	(catch tarn_lua_error 0)
	local.get	1
	local.get	2
	local.get	0
	call_indirect	(i32, i32) -> ()
	end_try_table
	return
	end_block
# The frames that were left did not put the stack pointer back.
	local.get	3
	global.set	__stack_pointer
	end_function

# void tarn_lua_throw(void)
	.section	.text.tarn_lua_throw,"",@
	.globl	tarn_lua_throw
	.type	tarn_lua_throw,@function
tarn_lua_throw:
	.functype	tarn_lua_throw () -> ()
	throw	tarn_lua_error
	end_function

	.section	.tag.tarn_lua_error,"",@
	.globl	tarn_lua_error
tarn_lua_error:
