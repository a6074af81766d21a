//! The calls that more than one command makes.

use serde_json::{Value, json};
use tarn_model::{Enumerated as _, MirrorEdit, MirrorSpec, MirrorState, Peer};
use tokio::time::{Instant, sleep};

use crate::answer::{
    MirrorItem, MirrorList, MirrorStatus, PeerComparison, PeerItem, PeerList, PeerOutcome, Script,
    ScriptList, ScriptStored, StateChanged,
};
use crate::config::{STATE_DEADLINE, STATE_POLL};
use crate::error::Error;
use crate::http::Client;
use crate::setup::{ScriptText, peer_body};

/// How a peer is created.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerCreation {
    /// Change the peer of the name, if there is one.
    pub(crate) allow_update: bool,
    /// Open no connection first.
    pub(crate) disable_validation: bool,
}

/// How long a state is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    /// [`STATE_DEADLINE`]: what ends soon or not at all.
    Deadline,
    /// As long as it takes: a load may take days.
    AnyTime,
}

impl Client {
    /// Every peer's name and kind.
    pub(crate) async fn peers(&self) -> Result<Vec<PeerItem>, Error> {
        Ok(self.read::<PeerList>(&self.get("peers/list").await?)?.items)
    }

    /// Creates or updates a peer.
    pub(crate) async fn create_peer(&self, peer: &Peer, creation: PeerCreation) -> Result<Value, Error> {
        let body = json!({"peer": peer_body(peer), "allow_update": creation.allow_update,
            "disable_validation": creation.disable_validation});
        self.outcome(self.post("peers/create", &body).await?)
    }

    /// The answer, or the failure that it tells of.
    pub(crate) fn outcome(&self, answer: Value) -> Result<Value, Error> {
        let PeerOutcome { status, message } = self.read(&answer)?;
        match status.as_str() {
            "CREATED" | "VALID" => Ok(answer),
            _ => Err(Error::Failed(message)),
        }
    }

    /// How a peer differs from the one that is stored.
    pub(crate) async fn compare_peer(&self, peer: &Peer) -> Result<PeerComparison, Error> {
        self.read(&self.post("peers/compare", &json!({"peer": peer_body(peer)})).await?)
    }

    /// Removes a peer.
    pub(crate) async fn drop_peer(&self, name: &str) -> Result<Value, Error> {
        self.post("peers/drop", &json!({"peer_name": name})).await
    }

    /// Every script.
    pub(crate) async fn scripts(&self) -> Result<Vec<Script>, Error> {
        Ok(self.read::<ScriptList>(&self.get("scripts/-1").await?)?.scripts)
    }

    /// The script of a name.
    pub(crate) async fn script(&self, name: &str) -> Result<Script, Error> {
        let found = self.scripts().await?.into_iter().find(|script| script.name == name);
        found.ok_or_else(|| {
            Error::Failed(format!("there is no script {name}; `tarn script list` shows which there are"))
        })
    }

    /// Uploads a script: a new one, or a new version of the one of that id. Returns its id.
    pub(crate) async fn store_script(&self, id: Option<i64>, script: &ScriptText) -> Result<i64, Error> {
        let ScriptText { name, language, source, tests } = script;
        let body = json!({"script": {"id": id.unwrap_or(-1), "lang": language.name(), "name": name, "source": source,
            "tests": tests}});
        Ok(self.read::<ScriptStored>(&self.post("scripts", &body).await?)?.id)
    }

    /// Every mirror that is not dropped.
    pub(crate) async fn mirrors(&self) -> Result<Vec<MirrorItem>, Error> {
        Ok(self.read::<MirrorList>(&self.get("mirrors/list").await?)?.mirrors)
    }

    /// A mirror's status with its configuration, without its batches.
    pub(crate) async fn mirror_status(&self, name: &str) -> Result<MirrorStatus, Error> {
        let body = json!({"flow_job_name": name, "include_flow_info": true, "exclude_batches": true});
        self.read(&self.post("mirrors/status", &body).await?)
    }

    /// A mirror's state.
    pub(crate) async fn mirror_state(&self, name: &str) -> Result<MirrorState, Error> {
        let answer = self.post("mirrors/status", &json!({"flow_job_name": name})).await?;
        Ok(self.read::<MirrorStatus>(&answer)?.current_flow_state)
    }

    /// Creates a mirror.
    pub(crate) async fn create_mirror(&self, spec: &MirrorSpec, options: &Value) -> Result<Value, Error> {
        self.post("flows/cdc/create", &mirror_body(spec, options)).await
    }

    /// Requests a state, with further fields of the request.
    pub(crate) async fn request_state(
        &self,
        name: &str,
        state: MirrorState,
        further: &Value,
    ) -> Result<Value, Error> {
        let body = json!({"flow_job_name": name, "requested_flow_state": state.name()});
        self.changed(self.post("mirrors/state_change", &with(body, further)).await?)
    }

    /// Edits a paused or failed mirror, which goes on then.
    pub(crate) async fn edit_mirror(&self, name: &str, edit: &MirrorEdit) -> Result<Value, Error> {
        let update = json!({"flow_config_update": {"cdc_flow_config_update": edit}});
        self.request_state(name, MirrorState::Running, &update).await
    }

    fn changed(&self, answer: Value) -> Result<Value, Error> {
        match self.read(&answer)? {
            StateChanged { ok: Some(false), error_message } => Err(Error::Failed(error_message)),
            _ => Ok(answer),
        }
    }

    /// Waits until a mirror's state is one that `wanted` accepts, and returns it.
    pub(crate) async fn wait_for(
        &self,
        name: &str,
        what: &str,
        within: Within,
        wanted: impl Fn(MirrorState) -> bool,
    ) -> Result<MirrorState, Error> {
        let end = Instant::now() + STATE_DEADLINE;
        loop {
            let state = self.mirror_state(name).await?;
            if wanted(state) {
                return Ok(state);
            }
            if matches!(state, MirrorState::Failed | MirrorState::Terminated) {
                return Err(Error::Failed(format!(
                    "mirror {name} is {} while it should {what}; `tarn logs {name}` says why",
                    state_name(state)
                )));
            }
            if within == Within::Deadline && Instant::now() > end {
                return Err(Error::Failed(format!(
                    "mirror {name} is still {} after {} s; it goes on by itself, `tarn mirror watch {name}` shows how",
                    state_name(state),
                    STATE_DEADLINE.as_secs()
                )));
            }
            sleep(STATE_POLL).await;
        }
    }
}

/// A creation's, or its validation's, request.
pub(crate) fn mirror_body(spec: &MirrorSpec, options: &Value) -> Value {
    with(json!({"connection_configs": spec}), options)
}

/// An object with another's entries in it.
fn with(mut body: Value, further: &Value) -> Value {
    if let (Some(body), Some(further)) = (body.as_object_mut(), further.as_object()) {
        body.extend(further.clone());
    }
    body
}

/// A state as people read it.
pub(crate) fn state_name(state: MirrorState) -> &'static str {
    let name = state.name();
    name.strip_prefix("STATUS_").unwrap_or(name)
}
