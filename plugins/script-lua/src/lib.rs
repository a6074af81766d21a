//! tarn-plugin-script-lua
