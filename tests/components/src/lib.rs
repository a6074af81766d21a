//! tarn-components
