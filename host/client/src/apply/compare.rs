//! Comparing a setup with a server.

use tarn_model::{MirrorSpec, Peer};

use crate::error::Error;
use crate::http::Client;
use crate::plan::{Change, Difference, MirrorStep, PeerStep, Plan, ScriptStep, compare};
use crate::setup::{ScriptText, Setup};

/// The plan that brings the server to the setup; with `prune` it drops what the setup does not name.
pub(super) async fn plan(client: &Client, setup: Setup, prune: bool) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    if prune {
        let names: Vec<_> = setup.peers.iter().map(|peer| &peer.name).collect();
        let extra = client.peers().await?.into_iter().filter(|peer| !names.contains(&&peer.name));
        plan.peers = extra.map(|peer| PeerStep::Drop(peer.name)).collect();
    }
    for (index, peer) in setup.peers.into_iter().enumerate() {
        plan.peers.insert(index, peer_step(client, peer).await?);
    }
    plan.scripts = script_steps(client, setup.scripts, prune).await?;
    plan.mirrors = mirror_steps(client, setup.mirrors, prune).await?;
    Ok(plan)
}

async fn peer_step(client: &Client, peer: Peer) -> Result<PeerStep, Error> {
    let compared = client.compare_peer(&peer).await;
    let comparison = compared.map_err(|error| error.about("peer", &peer.name))?;
    if !comparison.exists {
        return Ok(PeerStep::Create(peer));
    }
    let changes: Vec<_> = comparison
        .differences
        .into_iter()
        .map(|difference| Change {
            field: difference.field,
            stored: difference.stored,
            given: difference.given,
        })
        .collect();
    Ok(if changes.is_empty() { PeerStep::Unchanged(peer.name) } else { PeerStep::Update { peer, changes } })
}

async fn script_steps(
    client: &Client,
    wanted: Vec<ScriptText>,
    prune: bool,
) -> Result<Vec<ScriptStep>, Error> {
    let stored = client.scripts().await?;
    let extra: Vec<_> = stored
        .iter()
        .filter(|script| prune && !wanted.iter().any(|wanted| wanted.name == script.name))
        .map(|script| ScriptStep::Drop { id: script.id, name: script.name.clone() })
        .collect();
    let steps =
        wanted.into_iter().map(|script| match stored.iter().find(|known| known.name == script.name) {
            None => ScriptStep::Create(script),
            Some(known)
                if known.source == script.source
                    && known.lang == script.language
                    && script.tests.as_ref().is_none_or(|tests| *tests == known.tests) =>
            {
                ScriptStep::Unchanged(script.name)
            }
            Some(known) => ScriptStep::Update { id: known.id, script },
        });
    Ok(steps.chain(extra).collect())
}

async fn mirror_steps(
    client: &Client,
    wanted: Vec<MirrorSpec>,
    prune: bool,
) -> Result<Vec<MirrorStep>, Error> {
    let stored = client.mirrors().await?;
    let extra: Vec<_> = stored
        .iter()
        .filter(|mirror| prune && !wanted.iter().any(|wanted| wanted.name == mirror.name))
        .map(|mirror| MirrorStep::Drop(mirror.name.clone()))
        .collect();
    let mut steps = Vec::new();
    for spec in wanted {
        steps.push(match stored.iter().any(|mirror| mirror.name == spec.name) {
            false => MirrorStep::Create(Box::new(spec)),
            true => changed(client, spec).await?,
        });
    }
    steps.extend(extra);
    Ok(steps)
}

async fn changed(client: &Client, wanted: MirrorSpec) -> Result<MirrorStep, Error> {
    let stored = client.mirror_status(&wanted.name).await?.cdc_status.config;
    let Difference { edit, changes, stuck } = compare(&stored, &wanted);
    let name = wanted.name;
    Ok(match (stuck.is_empty(), changes.is_empty()) {
        (false, _) => MirrorStep::Stuck { name, changes: stuck },
        (true, false) => MirrorStep::Edit { name, edit: Box::new(edit), changes },
        (true, true) => MirrorStep::Unchanged(name),
    })
}
