//! Rust types of the contract's line 0.1, generated from `wit/v0.1`.
//!
//! They stay within this crate: each door translates them into what the rest of the host speaks. What is
//! given to a guest is borrowed, so that a batch is copied once, from where it is into the guest's memory.
//!
//! One world has all that components import and export. No component is all of it: each door takes the
//! exports of its interface alone.

wasmtime::component::bindgen!({
    path: "../../wit/v0.1",
    inline: "
        package tarn:host;

        world everything {
            include tarn:plugin/source-plugin@0.1.3;
            include tarn:plugin/destination-plugin@0.1.3;
            include tarn:plugin/inspection-plugin@0.1.3;
            include tarn:plugin/lookup-plugin@0.1.3;
            include tarn:plugin/comparison-plugin@0.1.3;
            include tarn:plugin/replacement-plugin@0.1.3;
            include tarn:plugin/parts-plugin@0.1.3;
            include tarn:plugin/preview-plugin@0.1.3;
            include tarn:plugin/script-plugin@0.1.3;
        }
    ",
    world: "tarn:host/everything",
    imports: {
        "tarn:plugin/log": trappable,
        "tarn:plugin/clock": trappable,
        default: async | trappable,
    },
    exports: { default: async },
    ownership: Borrowing { duplicate_if_necessary: true },
    with: {
        "tarn:plugin/postgres.session": crate::capability::postgres::Session,
        "tarn:plugin/clickhouse.insert": crate::capability::clickhouse::Insert,
        "tarn:plugin/kafka.producer": crate::capability::kafka::Producer,
    },
});
