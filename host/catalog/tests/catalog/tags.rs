use tarn_model::MirrorTag;

use crate::fixture::{Fixture, on_both};

fn tag(key: &str, value: &str) -> MirrorTag {
    MirrorTag { key: key.into(), value: value.into() }
}

on_both! {
    async fn tags_replace_all_that_were_there_and_keep_their_order(fixture: Fixture) {
        let (one, other) = (fixture.mirror("one").await, fixture.mirror("other").await);
        let tags = |id| {
            let catalog = fixture.catalog.clone();
            async move { catalog.tags(id).await.expect("read") }
        };
        assert_eq!(tags(one).await, []);
        fixture.catalog.replace_tags(one, &[tag("team", "shop"), tag("cost", "7")]).await.expect("stored");
        fixture.catalog.replace_tags(other, &[tag("team", "x")]).await.expect("stored");
        assert_eq!(tags(one).await, [tag("team", "shop"), tag("cost", "7")]);
        fixture.catalog.replace_tags(one, &[tag("cost", "8")]).await.expect("stored");
        assert_eq!(tags(one).await, [tag("cost", "8")]);
        fixture.catalog.replace_tags(one, &[]).await.expect("stored");
        assert_eq!((tags(one).await.len(), tags(other).await), (0, vec![tag("team", "x")]));
    }
}
