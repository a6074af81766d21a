//! How wasmtime is set up: what guests may be made of and where they live.

use std::num::NonZeroUsize;

use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Strategy, WasmBacktraceDetails,
};

use crate::config::{
    ASYNC_STACK_BYTES, CORE_INSTANCES_PER_COMPONENT, GUEST_STACK_BYTES, POOL_MEMORY_BYTES_MAX,
    TABLE_ELEMENTS_MAX, TRAP_FRAMES,
};

/// An engine whose instances come from a pool of `instances_max`.
///
/// The settings that shape compiled code are part of the cache's key, so a change of them compiles anew.
pub(crate) fn build(instances_max: u32) -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(instances_max)))
        // Run time is bounded by epochs: cheaper than fuel on the hot loops.
        .epoch_interruption(true)
        .max_wasm_stack(GUEST_STACK_BYTES)
        .async_stack_size(ASYNC_STACK_BYTES)
        // The Lua runtime's setjmp and longjmp are wasm exceptions, and those live on the collected heap.
        .wasm_gc(true)
        .wasm_function_references(true)
        .wasm_exceptions(true)
        // No guest has 64-bit memories, and calls are never concurrent: each costs the host.
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .concurrency_support(false)
        // A trap names the guest's functions; lines would need debug information in the guest.
        .wasm_backtrace_max_frames(NonZeroUsize::new(TRAP_FRAMES))
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    Engine::new(&config)
}

fn pool(instances_max: u32) -> PoolingAllocationConfig {
    let core_instances_max = instances_max.saturating_mul(CORE_INSTANCES_PER_COMPONENT);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances_max)
        .total_core_instances(core_instances_max)
        .total_memories(instances_max)
        .total_tables(core_instances_max)
        .total_stacks(instances_max)
        .total_gc_heaps(instances_max)
        .max_core_instances_per_component(CORE_INSTANCES_PER_COMPONENT)
        .max_tables_per_component(CORE_INSTANCES_PER_COMPONENT)
        .max_memories_per_component(1)
        .max_memory_size(POOL_MEMORY_BYTES_MAX)
        .table_elements(TABLE_ELEMENTS_MAX);
    pool
}
