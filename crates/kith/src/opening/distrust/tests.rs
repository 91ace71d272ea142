//! Where the results of a tool come from, and how far they are believed.

use kith_vocab::event::calls::Effect;
use serde_json::json;

use super::*;

/// A tool that says it reads where its input says.
struct Reader(ToolSpec);

impl Tool for Reader {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare<'a>(&'a self, input: &'a Json) -> BoxFuture<'a, Result<Prepared, String>> {
        let prepared = Prepared {
            input: input.clone(),
            effect: Effect::Read,
            facts: input.clone(),
            digest: String::new(),
            summary: String::new(),
        };
        Box::pin(async { Ok(prepared) })
    }

    fn run<'a>(&'a self, _: Prepared, _: &'a CancellationToken) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async {
            ToolOutput { text: "x".to_owned(), succeeded: true, trust: Trust::Owner }
        })
    }
}

#[tokio::test]
async fn what_may_come_from_a_folder_that_is_not_trusted_is_untrusted() {
    check(&json!({ "path": "/srv/repo/README.md" }), Trust::Untrusted).await;
    check(&json!({ "path": "/srv/repo" }), Trust::Untrusted).await;
    // A search from above goes through it.
    check(&json!({ "path": "/srv" }), Trust::Untrusted).await;
    check(&json!({ "path": "/home/luna/MEMORY.md" }), Trust::Owner).await;
    check(&json!({ "path": "/srv/repository" }), Trust::Owner).await;
    check(&json!({}), Trust::Untrusted).await;
}

#[tokio::test]
async fn what_is_the_owners_in_it_is_not() {
    check(&json!({ "path": "/srv/repo/luna/MEMORY.md" }), Trust::Owner).await;
    check(&json!({ "path": "/srv/repo/luna" }), Trust::Owner).await;
    check(&json!({ "path": "/srv/repo/lunatic" }), Trust::Untrusted).await;
    // A house around the repository does not make it the owner's.
    check(&json!({ "path": "/srv/repo/x" }), Trust::Untrusted).await;
}

async fn check(input: &serde_json::Value, trust: Trust) {
    let spec = ToolSpec {
        name: "read".to_owned(),
        description: String::new(),
        input_schema: Json::empty_object(),
    };
    let own = ["/srv", "/srv/repo/luna"].map(PathBuf::from);
    let tools = all(vec![Arc::new(Reader(spec))], Path::new("/srv/repo"), &own);
    let prepared = tools[0].prepare(&Json::of(input)).await.unwrap();
    let output = tools[0].run(prepared, &CancellationToken::new()).await;
    assert_eq!((output.trust, output.text.as_str()), (trust, "x"), "{input}");
}
