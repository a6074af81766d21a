//! A bucket as a service that checks signatures has it.

use std::time::Instant;

use bytes::Bytes;
use tarn_harness::Bucket as Service;
use tarn_model::Secret;
use tarn_object_store::{Bucket, BucketSettings, Error, Object};

fn settings(service: &Service) -> BucketSettings {
    BucketSettings {
        path: format!("s3://{}/some/prefix", service.name()),
        access_key_id: Secret::new(service.key()),
        secret_access_key: Secret::new(service.secret()),
        region: String::new(),
        endpoint: service.endpoint(),
        root_ca: String::new(),
    }
}

#[tokio::test]
async fn what_is_put_is_read_listed_and_deleted_below_the_prefix_alone() {
    let service = Service::start();
    let bucket = Bucket::new(&settings(&service)).expect("good settings");
    let large = Bytes::from(vec![7; 20 << 20]);
    bucket.put("a/1", Bytes::from_static(b"one")).await.expect("put");
    bucket.put("a/2", large.clone()).await.expect("put");
    bucket.put("a/b/3", Bytes::new()).await.expect("put");
    service.plant("some/prefix-of-others/1", b"x");
    assert_eq!(bucket.get("a/1").await.expect("there"), "one");
    assert_eq!(bucket.get("a/2").await.expect("there"), large);
    let object = |name: &str, bytes| Object { name: name.to_owned(), bytes };
    let (objects, folders) = bucket.list("a").await.expect("listed");
    assert_eq!(objects, [object("1", 3), object("2", 20 << 20)]);
    assert_eq!(folders, ["b"]);
    assert!(matches!(bucket.get("a/9").await, Err(Error::Missing { key }) if key == "a/9"));
    bucket.delete("a/9").await.expect("nothing to do");
    let many: Vec<_> = (0..30).map(|number| format!("m{number}")).collect();
    for name in &many {
        bucket.put(&format!("a/{name}"), Bytes::from_static(b"x")).await.expect("put");
    }
    bucket.delete_all("a", many).await.expect("deleted");
    assert_eq!(bucket.list("a").await.expect("listed").0.len(), 2);
    bucket.probe("probes", "look").await.expect("it may");
    let names: Vec<_> = service.objects().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["some/prefix-of-others/1", "some/prefix/a/1", "some/prefix/a/2", "some/prefix/a/b/3"]);
}

#[tokio::test]
async fn what_is_wrong_is_named_with_its_remedy_and_without_the_keys() {
    let service = Service::start();
    let failure = async |settings: &BucketSettings| {
        let bucket = Bucket::new(settings).expect("good settings");
        let failure = bucket.put("a", Bytes::from_static(b"x")).await.expect_err("refused").to_failure();
        let text = failure.to_string();
        assert!(!text.contains(service.secret()) && !text.contains("not-the-secret"), "{text}");
        assert!(!text.contains(service.key()) && !text.contains("AKIAUNKNOWN"), "{text}");
        (failure.code, text)
    };
    let good = settings(&service);
    let wrong = BucketSettings { secret_access_key: Secret::new("not-the-secret"), ..good.clone() };
    let (code, text) = failure(&wrong).await;
    assert!(code == "bucket_denied" && text.contains("secret_access_key"), "{text}");
    let unknown = BucketSettings { access_key_id: Secret::new("AKIAUNKNOWN000000000"), ..good.clone() };
    let (code, text) = failure(&unknown).await;
    assert!(code == "bucket_denied" && text.contains("access_key_id"), "{text}");
    let (code, text) = failure(&BucketSettings { path: "s3://another".into(), ..good.clone() }).await;
    assert!(code == "bucket_missing" && text.contains("s3_path"), "{text}");
    for endpoint in ["http://127.0.0.1:1", "http://nowhere.invalid"] {
        let (code, text) = failure(&BucketSettings { endpoint: endpoint.into(), ..good.clone() }).await;
        assert!(code == "bucket_unreachable" && text.contains("endpoint"), "{text}");
    }
    let without = BucketSettings { secret_access_key: Secret::default(), ..good };
    assert_eq!(Bucket::new(&without).expect_err("no key").to_string(), "secret_access_key is empty");
}

#[tokio::test]
async fn a_service_that_is_away_for_a_moment_is_waited_for() {
    let service = Service::start();
    let bucket = Bucket::new(&settings(&service)).expect("good settings");
    bucket.put("a", Bytes::from_static(b"one")).await.expect("put");
    service.close();
    let began = Instant::now();
    let writer = bucket.clone();
    let put = tokio::spawn(async move { writer.put("b", Bytes::from_static(b"two")).await });
    tokio::task::yield_now().await;
    service.open();
    put.await
        .expect("it ends")
        .unwrap_or_else(|error| panic!("after {:?}: {}", began.elapsed(), error.report()));
    assert_eq!(bucket.get("a").await.expect("there"), "one");
    assert_eq!(bucket.get("b").await.expect("there"), "two");
}
