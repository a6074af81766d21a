//! Carrying a plan out: peers, then scripts; mirrors that go before mirrors that come, since both may write
//! to one table; what nothing uses any more last. It stops at the first step that fails: applying again goes
//! on from there.

use serde_json::json;
use tarn_model::{MirrorState, Peer};

use crate::calls::{PeerCreation, Within};
use crate::error::Error;
use crate::http::Client;
use crate::mirror::{Edited, edit};
use crate::output::print;
use crate::plan::{MirrorStep, PeerStep, Plan, ScriptStep};

/// Does what the plan says, telling each step as it is done where `is_shown`.
pub(super) async fn carry_out(
    client: &Client,
    plan: Plan,
    disable_validation: bool,
    is_shown: bool,
) -> Result<(), Error> {
    let done = |what: String| if is_shown { print(&format!("{what}\n")) } else { Ok(()) };
    let creation = |allow_update| PeerCreation { allow_update, disable_validation };
    for step in &plan.peers {
        match step {
            PeerStep::Create(peer) => {
                store(client, peer, creation(false)).await?;
                done(format!("created peer {}", peer.name))?;
            }
            PeerStep::Update { peer, .. } => {
                store(client, peer, creation(true)).await?;
                done(format!("changed peer {}", peer.name))?;
            }
            PeerStep::Unchanged(_) | PeerStep::Drop(_) => {}
        }
    }
    for step in &plan.scripts {
        let (id, script, what) = match step {
            ScriptStep::Create(script) => (None, script, "created"),
            ScriptStep::Update { id, script } => (Some(*id), script, "changed"),
            ScriptStep::Unchanged(_) | ScriptStep::Drop { .. } => continue,
        };
        client.store_script(id, script).await.map_err(|error| error.about("script", &script.name))?;
        done(format!("{what} script {}", script.name))?;
    }
    for step in &plan.mirrors {
        if let MirrorStep::Drop(name) = step {
            drop_mirror(client, name).await.map_err(|error| error.about("mirror", name))?;
            done(format!("dropped mirror {name}"))?;
        }
    }
    for step in plan.mirrors {
        match step {
            MirrorStep::Create(spec) => {
                let created = client.create_mirror(&spec, &json!({})).await;
                created.map_err(|error| error.about("mirror", &spec.name))?;
                done(format!("created mirror {}", spec.name))?;
            }
            MirrorStep::Edit { name, edit: wanted, .. } => {
                let edited = edit(client, &name, &wanted).await;
                let Edited { was_paused, .. } = edited.map_err(|error| error.about("mirror", &name))?;
                let rest = if was_paused { ", which is paused again" } else { "" };
                done(format!("edited mirror {name}{rest}"))?;
            }
            MirrorStep::Unchanged(_) | MirrorStep::Stuck { .. } | MirrorStep::Drop(_) => {}
        }
    }
    for step in &plan.scripts {
        if let ScriptStep::Drop { id, name } = step {
            client.delete(&format!("scripts/{id}")).await.map_err(|error| error.about("script", name))?;
            done(format!("deleted script {name}"))?;
        }
    }
    for step in &plan.peers {
        if let PeerStep::Drop(name) = step {
            client.drop_peer(name).await.map_err(|error| error.about("peer", name))?;
            done(format!("dropped peer {name}"))?;
        }
    }
    Ok(())
}

async fn store(client: &Client, peer: &Peer, creation: PeerCreation) -> Result<(), Error> {
    let stored = client.create_peer(peer, creation).await;
    stored.map(|_| ()).map_err(|error| error.about("peer", &peer.name))
}

async fn drop_mirror(client: &Client, name: &str) -> Result<(), Error> {
    let is_dropped = |state| state == MirrorState::Terminated;
    client.request_state(name, MirrorState::Terminated, &json!({})).await?;
    client.wait_for(name, "drop", Within::Deadline, is_dropped).await?;
    Ok(())
}
