mod config;
mod value;
