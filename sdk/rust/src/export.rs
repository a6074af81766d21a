//! The macros that make a plugin of a type.

/// Makes the library a source plugin: `export_source!(MySource);`, once in a crate. One that implements
/// [`Lookup`](crate::Lookup) as well says so: `export_source!(MySource, lookup);`.
#[macro_export]
macro_rules! export_source {
    ($plugin:ty) => {
        $crate::__export_plugin!($plugin, Source source);
    };
    ($plugin:ty, lookup) => {
        $crate::__export_plugin!($plugin, Source source, Lookup lookup);
    };
}

/// Makes the library a destination plugin: `export_destination!(MyDestination);`, once in a crate. One that
/// implements [`Compare`](crate::Compare) as well says so: `export_destination!(MyDestination, comparison);`,
/// and one that implements [`Replace`](crate::Replace): `export_destination!(MyDestination, comparison, replacement);`.
/// With [`Preview`](crate::Preview) as well: `export_destination!(MyDestination, comparison, replacement, preview);`.
/// One that implements [`LoadParts`](crate::LoadParts): `export_destination!(MyDestination, parts);`.
#[macro_export]
macro_rules! export_destination {
    ($plugin:ty) => {
        $crate::__export_plugin!($plugin, Destination destination);
    };
    ($plugin:ty, comparison) => {
        $crate::__export_plugin!($plugin, Destination destination, Compare comparison);
    };
    ($plugin:ty, comparison, replacement) => {
        $crate::__export_plugin!($plugin, Destination destination, Compare comparison, Replace replacement);
    };
    ($plugin:ty, comparison, replacement, preview) => {
        $crate::__export_plugin!(
            $plugin,
            Destination destination,
            Compare comparison,
            Replace replacement,
            Preview preview
        );
    };
    ($plugin:ty, parts) => {
        $crate::__export_plugin!($plugin, Destination destination, LoadParts parts);
    };
    ($plugin:ty, replacement) => {
        $crate::__export_plugin!($plugin, Destination destination, Replace replacement);
    };
}

/// Lets people ask a source or destination about its store: `export_inspection!(MySource);`, once in a
/// crate, beside the line that exports what it is.
#[macro_export]
macro_rules! export_inspection {
    ($plugin:ty) => {
        $crate::__export_plugin!($plugin, Inspect inspection);
    };
}

/// Makes the library a script plugin: `export_script!(MyScript);`, once in a crate.
#[macro_export]
macro_rules! export_script {
    ($plugin:ty) => {
        $crate::__export_plugin!($plugin, Script script);
    };
}

/// Natively nothing is exported: there the plugin is a library for its own tests.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_plugin {
    ($plugin:ty, $($role:ident $world:ident),+) => {
        const _: () = {
            $(
                const _: () = {
                    const fn implements<T: $crate::$role>() {}
                    implements::<$plugin>();
                };
            )+

            #[cfg(target_family = "wasm")]
            struct Exported;

            #[cfg(target_family = "wasm")]
            impl $crate::instance::Slot for Exported {
                type Plugin = $plugin;

                fn with<R>(f: impl FnOnce(&mut Option<Self::Plugin>) -> R) -> R {
                    ::std::thread_local! {
                        static PLUGIN: ::std::cell::RefCell<Option<$plugin>> = const { ::std::cell::RefCell::new(None) };
                    }
                    PLUGIN.with_borrow_mut(f)
                }
            }

            // What is exported together shares the one value: what configured it did so for all of it.
            $(
                #[cfg(target_family = "wasm")]
                $crate::bindings::$world::export!(Exported with_types_in $crate::bindings::$world);
            )+
        };
    };
}
