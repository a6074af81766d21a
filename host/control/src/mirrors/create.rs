//! Creating a mirror: every check before either side is touched, one answer with every problem.

use tarn_catalog::MirrorCreated;
use tarn_model::{
    MirrorSpec, MirrorState, Peer, Problem, SchemaChangePolicy, ScriptChain, ScriptChainError, TablePlan,
    workflow_id,
};

use super::rules;
use crate::error::one_line;
use crate::hooks::{Purpose, Validation};
use crate::peers::unknown_peer;
use crate::{Control, ControlError, roles};

/// A mirror to create.
#[derive(Clone, Debug, Default)]
pub struct MirrorCreation {
    /// What it is to replicate. Unset numbers take their defaults.
    pub spec: MirrorSpec,
    /// Answer with the mirror of the name if there is one.
    pub attach_to_existing: bool,
    /// Leave out the look at both stores.
    pub skip_validation: bool,
}

impl Control {
    /// Creates a mirror, or attaches to it, and returns the id of its work.
    ///
    /// # Errors
    /// [`ControlError::AlreadyExists`]; [`ControlError::NotFound`] for peers;
    /// [`ControlError::FailedPrecondition`] with every other problem; [`ControlError::Catalog`].
    pub async fn create_mirror(&self, mut creation: MirrorCreation) -> Result<String, ControlError> {
        creation.spec.fill_defaults();
        let name = creation.spec.name.clone();
        if let Some(existing) = self.catalog().mirror(&name).await?
            && attaches(&creation, existing.state)
        {
            return Ok(existing.workflow_id());
        }
        let _peers = self.check(&creation).await?;
        match self.catalog().create_mirror(&creation.spec).await? {
            MirrorCreated::Done(_) => {
                // First: the client may go away while the note is written.
                self.wake();
                self.note(&name, "created").await;
                Ok(workflow_id(&name))
            }
            MirrorCreated::Exists(state) if attaches(&creation, state) => Ok(workflow_id(&name)),
            MirrorCreated::Exists(state) => Err(in_the_way(&creation.spec, state)),
            MirrorCreated::SlotTaken(other) => {
                let problem = slot_taken(&creation.spec, &other);
                Err(cannot_be_created(vec![problem]))
            }
            MirrorCreated::Gone(field) => {
                Err(ControlError::missing(field, format!("what {field} names was dropped meanwhile")))
            }
        }
    }

    /// Runs the checks of a creation, stores nothing, and tells what would be done to the destination's tables. Of a
    /// mirror that the creation attaches to, that is what its source's columns ask for now.
    ///
    /// # Errors
    /// As [`Control::create_mirror`].
    pub async fn validate_mirror(
        &self,
        mut creation: MirrorCreation,
    ) -> Result<Vec<TablePlan>, ControlError> {
        creation.spec.fill_defaults();
        let (spec, peers) = match self.catalog().mirror(&creation.spec.name).await? {
            Some(existing) if attaches(&creation, existing.state) => {
                let peers = self.peers_of(&existing.spec, &mut Vec::new()).await?;
                (existing.spec, peers)
            }
            _ => {
                let peers = self.check(&creation).await?;
                (creation.spec, peers)
            }
        };
        let Some((source, destination)) = peers.filter(|_| !creation.skip_validation) else {
            return Ok(Vec::new());
        };
        let validation =
            Validation { spec: &spec, source: &source, destination: &destination, purpose: Purpose::Create };
        self.parts().validator.plan(validation).await.map_err(|failure| {
            let path = if failure.table.is_empty() { "connection_configs" } else { failure.table.as_str() };
            let problem = Problem::new(path, failure.message.clone(), failure.hint.clone());
            let message =
                format!("what would be done cannot be told: {}", one_line(std::slice::from_ref(&problem)));
            ControlError::FailedPrecondition { message, problems: vec![problem] }
        })
    }

    /// Both peers, where nothing stands against the mirror.
    async fn check(&self, creation: &MirrorCreation) -> Result<Option<(Peer, Peer)>, ControlError> {
        let spec = &creation.spec;
        if let Some(existing) = self.catalog().mirror(&spec.name).await?
            && existing.state != MirrorState::Terminated
        {
            return Err(in_the_way(spec, existing.state));
        }
        let mut problems = rules::of_spec(spec);
        let peers = self.peers_of(spec, &mut problems).await?;
        self.check_script(spec, &mut problems).await?;
        self.check_slot(spec, &mut problems).await?;
        if let Some((_, destination)) = &peers {
            check_schema_changes(spec.schema_changes, destination, &mut problems);
        }
        if let Some((source, destination)) = &peers
            && !creation.skip_validation
            && can_be_looked_at(&problems)
        {
            let validation = Validation { spec, source, destination, purpose: Purpose::Create };
            for problem in self.parts().validator.validate(validation).await {
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
        if problems.is_empty() {
            return Ok(peers);
        }
        Err(cannot_be_created(problems))
    }

    /// Both peers, if both are named, exist and can play their parts.
    async fn peers_of(
        &self,
        spec: &MirrorSpec,
        problems: &mut Vec<Problem>,
    ) -> Result<Option<(Peer, Peer)>, ControlError> {
        let mut found = Vec::new();
        let mut unknown = Vec::new();
        for (path, name) in [("source_name", &spec.source_peer), ("destination_name", &spec.destination_peer)]
        {
            if name.is_empty() {
                problems.push(Problem::new(path, "is missing", "name a peer"));
                continue;
            }
            match self.catalog().peer(name).await? {
                Some(peer) => found.push((path, peer)),
                None => unknown.push((path, name)),
            }
        }
        if let [(path, name), others @ ..] = unknown.as_slice() {
            return Err(match others {
                [] => unknown_peer(path, name),
                _ => ControlError::NotFound {
                    message: "there are no such peers".into(),
                    problems: unknown
                        .iter()
                        .map(|(path, name)| Problem::new(*path, format!("there is no peer {name}"), ""))
                        .collect(),
                },
            });
        }
        for (path, peer) in &found {
            let kind = peer.config.kind();
            let (fits, needed) = match *path {
                "source_name" => (roles::is_source(kind), roles::source_names()),
                _ => (roles::is_destination(kind), roles::destination_names()),
            };
            if !fits {
                let message = format!("{} is of kind {kind}, which cannot take this part", peer.name);
                problems.push(Problem::new(*path, message, format!("name a peer of kind {needed}")));
            }
        }
        let mut found = found.into_iter().map(|(_, peer)| peer);
        Ok(found.next().zip(found.next()))
    }

    pub(super) async fn check_script(
        &self,
        spec: &MirrorSpec,
        problems: &mut Vec<Problem>,
    ) -> Result<(), ControlError> {
        if spec.script.is_empty() {
            return Ok(());
        }
        let allowance = self.settings().allowance;
        if !allowance.scripts() {
            problems.push(Problem::new("script", allowance.scripts_denied(), "or leave it out"));
            return Ok(());
        }
        let chain = match ScriptChain::parse(&spec.script) {
            Ok(chain) => chain,
            Err(error) => {
                problems.push(not_a_chain(error));
                return Ok(());
            }
        };
        for reference in chain.references() {
            if self.catalog().script(reference).await?.is_none() {
                let version = reference.version.map_or_else(String::new, |version| format!("@{version}"));
                let message = format!("there is no script {}{version}", reference.name);
                problems.push(Problem::new("script", message, "upload it first"));
            }
        }
        Ok(())
    }

    /// A slot serves one mirror: two would take each other's changes away.
    async fn check_slot(&self, spec: &MirrorSpec, problems: &mut Vec<Problem>) -> Result<(), ControlError> {
        for mirror in self.catalog().mirrors().await?.mirrors {
            let other = &mirror.spec;
            if other.name != spec.name && other.source_peer == spec.source_peer && other.slot() == spec.slot()
            {
                problems.push(slot_taken(spec, &other.name));
            }
        }
        Ok(())
    }
}

/// Whether the destination has columns that could be asked about.
pub(super) fn check_schema_changes(
    policy: SchemaChangePolicy,
    destination: &Peer,
    problems: &mut Vec<Problem>,
) {
    if policy == SchemaChangePolicy::Ask && destination.config.is_queue() {
        let message = format!("is ASK, and peer {} has no columns that could change", destination.name);
        problems.push(Problem::new("schema_changes", message, "leave it out"));
    }
}

fn not_a_chain(error: ScriptChainError) -> Problem {
    match error {
        ScriptChainError::Form(part) => {
            let message = format!("{part:?} is neither name nor name@version");
            Problem::new("script", message, "write mask, mask@2, or several with commas between them")
        }
        ScriptChainError::Twice(name) => {
            Problem::new("script", format!("names {name} twice"), "name each script once")
        }
        ScriptChainError::TooLong => {
            let message = format!("names more than {} scripts", ScriptChain::LENGTH_MAX);
            Problem::new("script", message, "make one script of several by require")
        }
    }
}

/// Whether a creation is answered by the mirror that exists.
fn attaches(creation: &MirrorCreation, state: MirrorState) -> bool {
    creation.attach_to_existing && !matches!(state, MirrorState::Terminating | MirrorState::Terminated)
}

fn cannot_be_created(problems: Vec<Problem>) -> ControlError {
    let message = format!("the mirror cannot be created: {}", one_line(&problems));
    ControlError::FailedPrecondition { message, problems }
}

fn slot_taken(spec: &MirrorSpec, other: &str) -> Problem {
    let message = format!("{} is the slot of mirror {other}", spec.slot());
    Problem::new("replication_slot_name", message, "leave it out, or choose another")
}

fn in_the_way(spec: &MirrorSpec, state: MirrorState) -> ControlError {
    let name = &spec.name;
    if spec.resync {
        let message = format!("mirror {name} exists; it must be dropped before it is created with resync");
        return ControlError::precondition("flow_job_name", message);
    }
    let message = match state {
        MirrorState::Terminating => format!("a mirror named {name} already exists and is being dropped"),
        _ => format!("a mirror named {name} already exists"),
    };
    ControlError::exists("flow_job_name", message)
}

/// Whether the stores can say anything useful: the peers and tables are known.
fn can_be_looked_at(problems: &[Problem]) -> bool {
    let needed = ["source_name", "destination_name", "table_mappings"];
    !problems.iter().any(|problem| needed.iter().any(|field| problem.path.starts_with(field)))
}
