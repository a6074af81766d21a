//! What people note on mirrors.

use std::collections::HashMap;

use tarn_model::{MirrorTag, Problem};

use crate::config::{TAG_KEY_CHARS_MAX, TAG_VALUE_CHARS_MAX, TAGS_MAX};
use crate::error::one_line;
use crate::{Control, ControlError};

impl Control {
    /// The tags of a mirror, in the order they were given.
    ///
    /// # Errors
    /// [`ControlError::NotFound`], [`ControlError::Catalog`].
    pub async fn tags(&self, mirror: &str) -> Result<Vec<MirrorTag>, ControlError> {
        let mirror = self.tagged_mirror(mirror).await?;
        Ok(self.catalog().tags(mirror).await?)
    }

    /// Gives a mirror these tags in place of all it has.
    ///
    /// # Errors
    /// [`ControlError::InvalidArgument`] with every problem of the tags; [`ControlError::NotFound`];
    /// [`ControlError::Catalog`].
    pub async fn replace_tags(&self, mirror: &str, tags: &[MirrorTag]) -> Result<(), ControlError> {
        let problems = problems(tags);
        if !problems.is_empty() {
            return Err(ControlError::InvalidArgument { message: one_line(&problems), problems });
        }
        let mirror = self.tagged_mirror(mirror).await?;
        Ok(self.catalog().replace_tags(mirror, tags).await?)
    }

    async fn tagged_mirror(&self, name: &str) -> Result<i64, ControlError> {
        let missing = || ControlError::missing("flow_name", format!("there is no mirror {name}"));
        Ok(self.catalog().mirror(name).await?.ok_or_else(missing)?.id)
    }
}

fn problems(tags: &[MirrorTag]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if tags.len() > TAGS_MAX {
        let message = format!("has {} entries; at most {TAGS_MAX} are allowed", tags.len());
        problems.push(Problem::new("tags", message, "note less on one mirror"));
    }
    let mut seen = HashMap::new();
    for (index, tag) in tags.iter().enumerate() {
        let path = |field: &str| format!("tags[{index}].{field}");
        if tag.key.is_empty() {
            problems.push(Problem::new(path("key"), "is missing", "name what is noted"));
        }
        for (field, text, most) in
            [("key", &tag.key, TAG_KEY_CHARS_MAX), ("value", &tag.value, TAG_VALUE_CHARS_MAX)]
        {
            let length = text.chars().count();
            if length > most {
                let message = format!("has {length} characters; at most {most} are allowed");
                problems.push(Problem::new(path(field), message, "shorten it"));
            }
        }
        if let Some(first) = seen.insert(&tag.key, index) {
            let message = format!("is the key of tags[{first}] already");
            problems.push(Problem::new(path("key"), message, "give each key once"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(key: &str, value: &str) -> MirrorTag {
        MirrorTag { key: key.into(), value: value.into() }
    }

    #[test]
    fn each_problem_names_its_tag() {
        let paths =
            |tags: &[MirrorTag]| problems(tags).into_iter().map(|problem| problem.path).collect::<Vec<_>>();
        assert_eq!(paths(&[tag("team", ""), tag("a key, with all of it", "é")]), [""; 0]);
        assert_eq!(paths(&[tag("", "x")]), ["tags[0].key"]);
        assert_eq!(paths(&[tag("a", "x"), tag("b", "x"), tag("a", "y")]), ["tags[2].key"]);
        let long = "x".repeat(TAG_VALUE_CHARS_MAX + 1);
        assert_eq!(paths(&[tag(&long, &long)]), ["tags[0].key", "tags[0].value"]);
        let many: Vec<_> = (0..=TAGS_MAX).map(|number| tag(&number.to_string(), "")).collect();
        assert_eq!(paths(&many), ["tags"]);
    }
}
