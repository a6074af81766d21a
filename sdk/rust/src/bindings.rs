//! What wit-bindgen makes of `wit/v0.1`; the macros of this crate reach into it.
//!
//! Types and capabilities are made once, and the worlds refer to them: a failure is one type for all
//! plugins. Of the export macros a plugin runs only the one of its own world, so that its component
//! says no more than it does.

pub mod imports {
    wit_bindgen::generate!({
        path: "../../wit/v0.1",
        inline: "
            package tarn:sdk;
            world imports {
                import tarn:plugin/types@0.1.3;
                import tarn:plugin/log@0.1.3;
                import tarn:plugin/clock@0.1.3;
                import tarn:plugin/postgres@0.1.3;
                import tarn:plugin/clickhouse@0.1.3;
                import tarn:plugin/kafka@0.1.3;
                import tarn:plugin/spool@0.1.3;
            }
        ",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq, Eq],
    });
}

pub mod source {
    wit_bindgen::generate!({
        path: "../../wit/v0.1",
        world: "tarn:plugin/source-plugin",
        with: {
            "tarn:plugin/types@0.1.3": crate::bindings::imports::tarn::plugin::types,
            "tarn:plugin/log@0.1.3": crate::bindings::imports::tarn::plugin::log,
            "tarn:plugin/clock@0.1.3": crate::bindings::imports::tarn::plugin::clock,
            "tarn:plugin/postgres@0.1.3": crate::bindings::imports::tarn::plugin::postgres,
            "tarn:plugin/clickhouse@0.1.3": crate::bindings::imports::tarn::plugin::clickhouse,
            "tarn:plugin/spool@0.1.3": crate::bindings::imports::tarn::plugin::spool,
        },
        additional_derives: [PartialEq, Eq],
        pub_export_macro: true,
    });
}

pub mod destination {
    wit_bindgen::generate!({
        path: "../../wit/v0.1",
        world: "tarn:plugin/destination-plugin",
        with: {
            "tarn:plugin/types@0.1.3": crate::bindings::imports::tarn::plugin::types,
            "tarn:plugin/log@0.1.3": crate::bindings::imports::tarn::plugin::log,
            "tarn:plugin/clock@0.1.3": crate::bindings::imports::tarn::plugin::clock,
            "tarn:plugin/postgres@0.1.3": crate::bindings::imports::tarn::plugin::postgres,
            "tarn:plugin/clickhouse@0.1.3": crate::bindings::imports::tarn::plugin::clickhouse,
            "tarn:plugin/kafka@0.1.3": crate::bindings::imports::tarn::plugin::kafka,
        },
        additional_derives: [PartialEq, Eq],
        pub_export_macro: true,
    });
}

pub mod inspection {
    wit_bindgen::generate!({
        path: "../../wit/v0.1",
        world: "tarn:plugin/inspection-plugin",
        with: {
            "tarn:plugin/types@0.1.3": crate::bindings::imports::tarn::plugin::types,
            "tarn:plugin/log@0.1.3": crate::bindings::imports::tarn::plugin::log,
            "tarn:plugin/clock@0.1.3": crate::bindings::imports::tarn::plugin::clock,
            "tarn:plugin/postgres@0.1.3": crate::bindings::imports::tarn::plugin::postgres,
            "tarn:plugin/clickhouse@0.1.3": crate::bindings::imports::tarn::plugin::clickhouse,
        },
        additional_derives: [PartialEq, Eq],
        pub_export_macro: true,
    });
}

pub mod lookup {
    wit_bindgen::generate!({
        path: "../../wit/v0.1",
        world: "tarn:plugin/lookup-plugin",
        with: {
            "tarn:plugin/types@0.1.3": crate::bindings::imports::tarn::plugin::types,
            "tarn:plugin/log@0.1.3": crate::bindings::imports::tarn::plugin::log,
            "tarn:plugin/clock@0.1.3": crate::bindings::imports::tarn::plugin::clock,
            "tarn:plugin/postgres@0.1.3": crate::bindings::imports::tarn::plugin::postgres,
            "tarn:plugin/clickhouse@0.1.3": crate::bindings::imports::tarn::plugin::clickhouse,
        },
        additional_derives: [PartialEq, Eq],
        pub_export_macro: true,
    });
}

pub mod comparison {
    wit_bindgen::generate!({
        path: "../../wit/v0.1",
        world: "tarn:plugin/comparison-plugin",
        with: {
            "tarn:plugin/types@0.1.3": crate::bindings::imports::tarn::plugin::types,
            "tarn:plugin/log@0.1.3": crate::bindings::imports::tarn::plugin::log,
            "tarn:plugin/clock@0.1.3": crate::bindings::imports::tarn::plugin::clock,
            "tarn:plugin/postgres@0.1.3": crate::bindings::imports::tarn::plugin::postgres,
            "tarn:plugin/clickhouse@0.1.3": crate::bindings::imports::tarn::plugin::clickhouse,
        },
        additional_derives: [PartialEq, Eq],
        pub_export_macro: true,
    });
}

pub mod replacement {
    wit_bindgen::generate!({
        path: "../../wit/v0.1",
        world: "tarn:plugin/replacement-plugin",
        with: {
            "tarn:plugin/types@0.1.3": crate::bindings::imports::tarn::plugin::types,
            "tarn:plugin/log@0.1.3": crate::bindings::imports::tarn::plugin::log,
            "tarn:plugin/clock@0.1.3": crate::bindings::imports::tarn::plugin::clock,
            "tarn:plugin/postgres@0.1.3": crate::bindings::imports::tarn::plugin::postgres,
            "tarn:plugin/clickhouse@0.1.3": crate::bindings::imports::tarn::plugin::clickhouse,
        },
        additional_derives: [PartialEq, Eq],
        pub_export_macro: true,
    });
}

pub mod parts {
    wit_bindgen::generate!({
        path: "../../wit/v0.1",
        world: "tarn:plugin/parts-plugin",
        with: {
            "tarn:plugin/types@0.1.3": crate::bindings::imports::tarn::plugin::types,
            "tarn:plugin/log@0.1.3": crate::bindings::imports::tarn::plugin::log,
            "tarn:plugin/clock@0.1.3": crate::bindings::imports::tarn::plugin::clock,
            "tarn:plugin/postgres@0.1.3": crate::bindings::imports::tarn::plugin::postgres,
            "tarn:plugin/clickhouse@0.1.3": crate::bindings::imports::tarn::plugin::clickhouse,
            "tarn:plugin/kafka@0.1.3": crate::bindings::imports::tarn::plugin::kafka,
        },
        additional_derives: [PartialEq, Eq],
        pub_export_macro: true,
    });
}

pub mod preview {
    wit_bindgen::generate!({
        path: "../../wit/v0.1",
        world: "tarn:plugin/preview-plugin",
        with: {
            "tarn:plugin/types@0.1.3": crate::bindings::imports::tarn::plugin::types,
            "tarn:plugin/log@0.1.3": crate::bindings::imports::tarn::plugin::log,
            "tarn:plugin/clock@0.1.3": crate::bindings::imports::tarn::plugin::clock,
            "tarn:plugin/postgres@0.1.3": crate::bindings::imports::tarn::plugin::postgres,
            "tarn:plugin/clickhouse@0.1.3": crate::bindings::imports::tarn::plugin::clickhouse,
            "tarn:plugin/kafka@0.1.3": crate::bindings::imports::tarn::plugin::kafka,
        },
        additional_derives: [PartialEq, Eq],
        pub_export_macro: true,
    });
}

pub mod script {
    wit_bindgen::generate!({
        path: "../../wit/v0.1",
        world: "tarn:plugin/script-plugin",
        with: {
            "tarn:plugin/types@0.1.3": crate::bindings::imports::tarn::plugin::types,
            "tarn:plugin/log@0.1.3": crate::bindings::imports::tarn::plugin::log,
            "tarn:plugin/clock@0.1.3": crate::bindings::imports::tarn::plugin::clock,
        },
        additional_derives: [PartialEq, Eq],
        pub_export_macro: true,
    });
}
