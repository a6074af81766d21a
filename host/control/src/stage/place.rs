//! Where what waits is put.

use bytes::Bytes;
use tarn_model::{Failure, FailureClass};
use tarn_object_store::{Bucket, Error};

use super::folder::Folder;

/// A folder of this machine, or a part of a bucket that is this server's.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Folder(Folder),
    Bucket {
        bucket: Bucket,
        /// What is this server's in it.
        root: String,
    },
}

/// How the data folder is called where people read.
const DATA_FOLDER: &str = "the data folder";

impl Place {
    /// What the catalog calls it.
    pub(super) fn id(&self) -> String {
        match self {
            Self::Folder(_) => String::new(),
            Self::Bucket { bucket, .. } => bucket.place(),
        }
    }

    pub(super) async fn put(&self, mirror: i64, name: &str, content: Bytes) -> Result<(), Failure> {
        match self {
            Self::Folder(folder) => folder.put(&mirror.to_string(), name, content).await,
            Self::Bucket { bucket, root } => {
                let done = bucket.put(&format!("{root}/{mirror}/{name}"), content).await;
                done.map_err(|error| self.failed(&error))
            }
        }
    }

    /// `None` where there is no such entry.
    pub(super) async fn get(&self, mirror: i64, name: &str) -> Result<Option<Bytes>, Failure> {
        match self {
            Self::Folder(folder) => folder.get(&mirror.to_string(), name).await,
            Self::Bucket { bucket, root } => match bucket.get(&format!("{root}/{mirror}/{name}")).await {
                Ok(content) => Ok(Some(content)),
                Err(Error::Missing { .. }) => Ok(None),
                Err(error) => Err(self.failed(&error)),
            },
        }
    }

    /// That one is not there is no failure.
    pub(super) async fn delete(&self, mirror: &str, names: Vec<String>) -> Result<(), Failure> {
        match self {
            Self::Folder(folder) => folder.delete(mirror, names).await,
            Self::Bucket { bucket, root } => {
                let done = bucket.delete_all(&format!("{root}/{mirror}"), names).await;
                done.map_err(|error| self.failed(&error))
            }
        }
    }

    /// Removes everything of a mirror.
    pub(super) async fn clear(&self, mirror: i64) -> Result<(), Failure> {
        let mirror = mirror.to_string();
        match self {
            Self::Folder(folder) => folder.clear(&mirror).await,
            Self::Bucket { .. } => {
                let names = self.list(&mirror).await?.into_iter().map(|(name, _)| name).collect();
                self.delete(&mirror, names).await
            }
        }
    }

    /// Names and sizes of a mirror's entries, as far as a listing shows them.
    pub(super) async fn list(&self, mirror: &str) -> Result<Vec<(String, u64)>, Failure> {
        match self {
            Self::Folder(folder) => folder.list(mirror).await,
            Self::Bucket { bucket, root } => {
                let listed = bucket.list(&format!("{root}/{mirror}")).await;
                let (objects, _) = listed.map_err(|error| self.failed(&error))?;
                Ok(objects.into_iter().map(|object| (object.name, object.bytes)).collect())
            }
        }
    }

    /// Mirrors of which there is something, by the names of their folders.
    pub(super) async fn mirrors(&self) -> Result<Vec<String>, Failure> {
        match self {
            Self::Folder(folder) => folder.mirrors().await,
            Self::Bucket { bucket, root } => {
                Ok(bucket.list(root).await.map_err(|error| self.failed(&error))?.1)
            }
        }
    }

    fn failed(&self, error: &Error) -> Failure {
        let failure = error.to_failure();
        Failure {
            class: FailureClass::Retry,
            message: format!("the stage in {}: {}", self.id(), failure.message),
            ..failure
        }
    }
}

/// What people read for a place that the catalog names.
pub(super) fn shown(id: &str) -> &str {
    if id.is_empty() { DATA_FOLDER } else { id }
}
