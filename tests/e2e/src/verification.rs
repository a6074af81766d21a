//! Verifying a mirror.

use serde_json::{Value, json};
use tarn_harness::until_within;

use crate::{PATIENCE, Scene};

impl Scene {
    /// Begins a verification of all rows of a mirror; its id.
    #[track_caller]
    pub fn begin_verification(&self, mirror: &str) -> String {
        let answer = self.post("mirrors/verify", &json!({"flowJobName": mirror}));
        answer["verifyId"].as_str().unwrap_or_else(|| panic!("no id: {answer}")).to_owned()
    }

    /// A verification as it is now.
    #[track_caller]
    pub fn verification(&self, id: &str) -> Value {
        let answer = self.tarn.get(&format!("/api/v1/mirrors/verify/{id}"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Waits until a verification is at its end, and returns its result.
    #[track_caller]
    pub fn verified(&self, id: &str) -> Value {
        until_within(PATIENCE, &format!("verification {id} ends"), || {
            let verification = self.verification(id);
            let state = verification["state"].as_str().unwrap_or_default().to_owned();
            let ended = ["VERIFICATION_DONE", "VERIFICATION_FAILED", "VERIFICATION_CANCELLED"];
            ended.contains(&state.as_str()).then_some(verification)
        })
    }

    /// Verifies all rows of a mirror.
    #[track_caller]
    pub fn verify(&self, mirror: &str) -> Value {
        let id = self.begin_verification(mirror);
        self.verified(&id)
    }
}
