//! What is done with objects.

use std::sync::Arc;

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore as _, ObjectStoreExt as _, RetryConfig};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::{
    CALL_DEADLINE, PARALLEL_MAX, RETRIES_MAX, RETRY_DEADLINE, RETRY_DELAY_MAX, RETRY_DELAY_MIN,
};
use crate::error::{Error, Refusal};
use crate::http::Requests;
use crate::settings::BucketSettings;

/// A bucket, below its prefix. Names are relative to it. Clones share connections.
#[derive(Clone, Debug)]
pub struct Bucket {
    store: Arc<AmazonS3>,
    settings: Arc<BucketSettings>,
    prefix: String,
    address: Arc<str>,
}

/// An object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name, without the folder's.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

impl Bucket {
    /// Reads the settings. Opens nothing.
    ///
    /// # Errors
    /// [`Error::Settings`].
    pub fn new(settings: &BucketSettings) -> Result<Self, Error> {
        let (bucket, prefix) = settings.parts()?;
        let (key, secret) = settings.keys()?;
        let endpoint = settings.endpoint()?;
        let retry = RetryConfig {
            backoff: BackoffConfig { init_backoff: RETRY_DELAY_MIN, max_backoff: RETRY_DELAY_MAX, base: 2.0 },
            max_retries: RETRIES_MAX,
            retry_timeout: RETRY_DEADLINE,
        };
        let store = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(settings.region())
            .with_endpoint(&endpoint)
            .with_allow_http(true)
            .with_access_key_id(key)
            .with_secret_access_key(secret)
            // Services that speak like S3 differ in what they take of a request that deletes many.
            .with_disable_bulk_delete(true)
            .with_retry(retry)
            .with_http_connector(Requests::new(&endpoint, &settings.root_ca))
            .build()
            .map_err(|error| Error::Settings {
                field: "s3_path",
                reason: settings.struck(&error.to_string()),
            })?;
        let address = endpoint.trim_start_matches("https://").trim_start_matches("http://").into();
        Ok(Self {
            store: Arc::new(store),
            settings: Arc::new(settings.clone()),
            prefix: prefix.to_owned(),
            address,
        })
    }

    /// What tells it from others, for people too.
    pub fn place(&self) -> String {
        self.settings.place()
    }

    /// Puts an object. It is durable when this returns; where this fails, it may be there all the same, also later.
    ///
    /// # Errors
    /// Any [`Error`].
    pub async fn put(&self, name: &str, content: Bytes) -> Result<(), Error> {
        let path = self.path(name);
        self.call(name, self.store.put(&path, content.into())).await.map(drop)
    }

    /// The content of an object.
    ///
    /// # Errors
    /// [`Error::Missing`] where there is none; any other.
    pub async fn get(&self, name: &str) -> Result<Bytes, Error> {
        let path = self.path(name);
        self.call(name, async { self.store.get(&path).await?.bytes().await }).await
    }

    /// Deletes an object. That there is none is no error.
    ///
    /// # Errors
    /// Any [`Error`]; it may be gone all the same, also later.
    pub async fn delete(&self, name: &str) -> Result<(), Error> {
        let path = self.path(name);
        match self.call(name, self.store.delete(&path)).await {
            Err(Error::Missing { .. }) => Ok(()),
            done => done,
        }
    }

    /// The objects right in a folder, and the names of the folders in it.
    ///
    /// # Errors
    /// Any [`Error`].
    pub async fn list(&self, folder: &str) -> Result<(Vec<Object>, Vec<String>), Error> {
        let path = self.path(folder);
        let listed = self.call(folder, self.store.list_with_delimiter(Some(&path))).await?;
        let last = |path: &Path| path.filename().map(str::to_owned);
        let objects = listed.objects.iter();
        let objects =
            objects.filter_map(|object| Some(Object { name: last(&object.location)?, bytes: object.size }));
        Ok((objects.collect(), listed.common_prefixes.iter().filter_map(last).collect()))
    }

    /// Deletes objects of a folder, some at a time.
    ///
    /// # Errors
    /// The first [`Error`]; others may be gone by then.
    pub async fn delete_all(&self, folder: &str, names: Vec<String>) -> Result<(), Error> {
        let mut under_way = JoinSet::new();
        for name in names {
            if under_way.len() == PARALLEL_MAX {
                joined(under_way.join_next().await)?;
            }
            let (bucket, name) = (self.clone(), format!("{folder}/{name}"));
            under_way.spawn(async move { bucket.delete(&name).await });
        }
        while let Some(done) = under_way.join_next().await {
            joined(Some(done))?;
        }
        Ok(())
    }

    /// Puts, reads, lists and deletes a small object, as whoever stages here has to.
    ///
    /// # Errors
    /// Any [`Error`].
    pub async fn probe(&self, folder: &str, name: &str) -> Result<(), Error> {
        let (path, content) = (format!("{folder}/{name}"), Bytes::from_static(b"tarn looks whether it may"));
        self.put(&path, content.clone()).await?;
        let read = self.get(&path).await;
        let listed = self.list(folder).await;
        self.delete(&path).await?;
        if read? != content {
            return Err(Error::NotS3("an object that was put reads as another".to_owned()));
        }
        if !listed?.0.iter().any(|object| object.name == name) {
            return Err(Error::NotS3("an object that was put is not listed".to_owned()));
        }
        Ok(())
    }

    fn path(&self, name: &str) -> Path {
        if self.prefix.is_empty() { Path::from(name) } else { Path::from(format!("{}/{name}", self.prefix)) }
    }

    async fn call<T>(
        &self,
        name: &str,
        call: impl Future<Output = Result<T, object_store::Error>>,
    ) -> Result<T, Error> {
        match timeout(CALL_DEADLINE, call).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(self.read(name, &error)),
            Err(_) => Err(Error::Silent { address: self.address.to_string(), deadline: CALL_DEADLINE }),
        }
    }

    /// Finds what the requests said in what the library makes of it.
    fn read(&self, name: &str, error: &object_store::Error) -> Error {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(ours) = error.downcast_ref::<Error>() {
                return self.copy(name, ours);
            }
            cause = error.source();
        }
        let text = self.settings.struck(&error.to_string());
        Refusal::quoted(&text).map_or_else(|| Error::NotS3(text), Error::Refused)
    }

    /// The library lends its causes and does not give them.
    fn copy(&self, name: &str, error: &Error) -> Error {
        let address = self.address.to_string();
        match error {
            Error::Connect { source, .. } => Error::Connect { address, source: Arc::clone(source) },
            Error::Silent { deadline, .. } => Error::Silent { address, deadline: *deadline },
            Error::Lost { reason, .. } => Error::Lost { address, reason: self.settings.struck(reason) },
            Error::Refused(Refusal { status: 404, code, .. }) if code != "NoSuchBucket" => {
                Error::Missing { key: name.to_owned() }
            }
            Error::Refused(refusal) => {
                let message = self.settings.struck(&refusal.message);
                Error::Refused(Refusal { message, ..refusal.clone() })
            }
            Error::NotS3(text) => Error::NotS3(self.settings.struck(text)),
            Error::Missing { key } => Error::Missing { key: key.clone() },
            Error::Settings { field, reason } => Error::Settings { field, reason: reason.clone() },
        }
    }
}

fn joined(done: Option<Result<Result<(), Error>, tokio::task::JoinError>>) -> Result<(), Error> {
    match done {
        Some(Ok(done)) => done,
        Some(Err(fault)) => Err(Error::NotS3(format!("a request was cut off: {fault}"))),
        None => Ok(()),
    }
}
