//! The thin layer holds what it says of the engine.

use crate::runtime::Runtime;
use crate::runtime::tests::Recorder;

#[test]
fn references_of_an_object_are_counted() {
    let runtime = Runtime::new(Box::new(Recorder::default())).expect("there is memory");
    let js = runtime.engine();
    let object = js.object().expect("memory");
    assert_eq!(object.references(), 1);
    let second = object.clone();
    assert_eq!(object.references(), 2);
    drop(second);
    assert_eq!(object.references(), 1);
}
