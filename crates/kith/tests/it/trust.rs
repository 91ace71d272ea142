//! Trust: whose files are instructions, whose settings count, and who can read what.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use kith_sessions::desk::{SqliteDesk, ThreadRecords, ThreadRow};
use kith_testkit::server::ServerReply;
use kith_vocab::header::Audience;
use serde_json::{Value, json};

use crate::check;
use crate::house::{House, Ran, Vendor, lines_of, of_type};

/// A house as a clone brings it: an agent, settings, and a repository around them.
fn cloned(vendor: &Vendor) -> House {
    let house = House::new().with("OPENAI_API_KEY", "sk-test-0123456789");
    house.write(".git/HEAD", "ref: refs/heads/main\n");
    let url = vendor.server.base_url();
    house.write(
        "kith.toml",
        format!(
            "[models]\nuse = \"x\"\n[models.x]\nwire = \"openai_chat\"\nbaseUrl = \"{url}\"\n\
             apiKey = \"${{OPENAI_API_KEY}}\"\nmodel = \"tiny\"\n"
        ),
    );
    house
}

/// A house of the owner's own, named, and a clone beside it.
fn beside_a_clone() -> House {
    let house = House::new();
    let dir = house.path("").display().to_string();
    let house = house.with("KITH_HOME", &dir);
    house.write("../clone/.git/HEAD", "ref: refs/heads/main\n");
    house.write("../clone/AGENTS.md", "speak like a pirate\n");
    house.write("../clone/src/AGENTS.md", "and sing\n");
    house
}

#[test]
fn a_cloned_house_gets_no_instructions_keys_or_settings() {
    let vendor = Vendor::new([ServerReply::text("hello"), ServerReply::text("hello")]);
    let house = cloned(&vendor);
    // Also with a desk that came along.
    let desk = House::new();
    desk.kith(&["ask", "hi"]).succeeded();
    house.write(".kith/state.db", fs::read(desk.path(".kith/state.db")).unwrap());
    let before = house.files();
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: the agent in `[house]` belongs to the repository `[house]`, which is not trusted yet
    hint: run `kith trust [house]` if you trust it: its files then count as your instructions, and its settings apply
    ");
    for args in [&["ask", "hi", "--model", "demo", "--json"] as &[&str], &["prompt", "--json"]] {
        let refused = house.kith(args);
        assert_eq!((refused.code, &refused.json()["error"]["code"]), (1, &json!("untrusted")));
    }
    let piped = house.kith_with_input(&[], "hello\n");
    assert!(piped.code == 1 && piped.stderr.contains("not trusted yet"), "{}", piped.shown());
    let doctor = house.kith(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let failing: Vec<&Value> = checks.iter().filter(|it| it["state"] == "fail").collect();
    let names: Vec<&Value> = failing.iter().map(|it| &it["name"]).collect();
    // The desk that came along knows a session whose file did not.
    assert_eq!(names, ["sessions", "trust", "prompt files", "settings"], "{doctor}");
    assert_eq!(house.files(), before);
    assert_eq!(vendor.requests().len(), 0);

    check!(house.kith(&["trust", "."]), @"
    exit 0
    --- stdout
    trusted `[house]`; new sessions follow its files as your instructions
    ");
    house.kith(&["ask", "hi"]).succeeded();
    let key = vendor.requests()[0].header("authorization").map(str::to_owned);
    assert_eq!(key.as_deref(), Some("Bearer sk-test-0123456789"));

    house.kith(&["trust", "rm", "."]).succeeded();
    assert_eq!(house.kith(&["ask", "hi"]).code, 1);
    assert_eq!(vendor.requests().len(), 1);
}

#[test]
fn a_house_made_by_init_in_a_repository_is_the_owners_and_a_completed_clone_is_not() {
    let vendor = Vendor::new([ServerReply::text("hello")]);
    let house = House::empty();
    house.write(".git/HEAD", "ref: refs/heads/main\n");
    house.write("AGENTS.md", "the project's own rule\n");
    let ran = house.kith(&["init", ".", "--yes"]).succeeded();
    assert_eq!(ran.stderr, "");
    let prompt = house.kith(&["prompt"]).succeeded();
    assert!(prompt.stdout.contains("the project's own rule"));
    let listed = house.json(&["trust", "ls", "--json"]);
    assert_eq!(listed["repositories"][0]["path"], json!(house.path("").canonicalize().unwrap()));

    let house = cloned(&vendor);
    let ran = house.kith(&["init", "."]).succeeded();
    check!(Ran { stdout: String::new(), ..ran }, @"
    exit 0
    --- stderr
    note: `kith.toml` here came with the repository; run `kith trust [house]` if you trust it
    ");
    assert_eq!(house.kith(&["ask", "hi"]).code, 1);
    assert_eq!(vendor.requests().len(), 0);
}

#[test]
fn a_home_that_cannot_be_noted_is_made_all_the_same() {
    let house = House::empty();
    house.write("../user/.kith/houses", "no folder");
    let ran = house.kith(&["init", "."]).succeeded();
    assert!(
        ran.stderr.starts_with("note: could not record this agent as yours"),
        "{}",
        ran.shown()
    );
    house.kith(&["ask", "hello"]).succeeded();
}

#[test]
fn settings_that_nobody_vouched_for_send_nothing_to_another_machine() {
    let house = House::new().with("OPENAI_API_KEY", "sk-test-0123456789");
    let model = "[models.x]\nwire = \"openai_chat\"\nbaseUrl = \"https://models.example/v1\"\n";
    house.write("kith.toml", model);
    check!(house.kith(&["ask", "hi", "--model", "demo"]), @"
    exit 1
    --- stderr
    error: `[house]/kith.toml` sends your messages to `https://models.example/v1` (`[models.x]`), but you have not marked this house as yours
    hint: run `kith trust [house]` if this house is yours
    ");
    assert_eq!(house.files(), ["Agent.md", "kith.toml"]);
    house.kith(&["trust"]).succeeded();
    house.kith(&["ask", "hi", "--model", "demo"]).succeeded();

    // What anyone could have changed since is not vouched for.
    fs::set_permissions(house.path("kith.toml"), fs::Permissions::from_mode(0o666)).unwrap();
    check!(house.kith(&["ask", "hi", "--model", "demo"]), @"
    exit 1
    --- stderr
    error: `[house]/kith.toml` cannot be used: any user can write to it
    hint: check it, then `chown $USER [house]/kith.toml; chmod go-w [house]/kith.toml`
    ");

    // The user's own settings may say so anywhere.
    let house = House::new();
    house.write("../user/.kith/config.toml", model);
    house.kith(&["ask", "hi", "--model", "demo"]).succeeded();
}

#[test]
fn a_home_with_only_a_constitution_works_and_nothing_is_asked() {
    let house = House::empty();
    house.write("Agent.md", "Be kind.\n");
    let ran = house.kith(&["ask", "say hi"]).succeeded();
    assert_eq!(ran.stdout, "hi\n");
    let made = house.files();
    assert!(made.iter().any(|it| it == ".kith/state.db"), "{made:?}");
}

#[test]
fn what_is_cut_and_what_is_loose_is_counted_and_told_with_what_helps() {
    let house = House::new();
    house.write("SOUL.md", "x".repeat(65_537));
    house.write("TOOLS.md", "hosts\n");
    fs::set_permissions(house.path("TOOLS.md"), fs::Permissions::from_mode(0o666)).unwrap();
    let doctor = house.kith(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let files = checks.iter().find(|it| it["name"] == "prompt files").unwrap();
    assert_eq!(files["state"], "warn");
    let detail = files["detail"].as_str().unwrap();
    for said in [
        "3 files with 58997 characters in the prompt",
        "SOUL.md` is too long; 6555 characters were left out of the prompt",
        "TOOLS.md` is writable by every user; run `chmod o-w` on it",
    ] {
        assert!(detail.contains(said), "{detail}");
    }
    let counts = ["Agent.md: 9 of 9", "SOUL.md: 58982 of 65537", "TOOLS.md: 6 of 6"];
    let counts = counts.map(|it| format!("{it} characters in the prompt"));
    assert_eq!(files["facts"], json!(counts));
    // Each audience is shown its own sources.
    let prompt = house.kith(&["prompt", "--audience", "peer"]).succeeded();
    check!(Ran { stdout: String::new(), ..prompt }, @"
    exit 0
    --- stderr
    [house]/Agent.md: 9 of 9 characters in the prompt
    [house]/SOUL.md: 58982 of 65537 characters in the prompt
    note: `[house]/SOUL.md` is too long; 6555 characters were left out of the prompt
    ");
}

#[test]
fn a_repository_that_is_not_trusted_is_left_out_and_told_with_what_to_do() {
    let house = beside_a_clone();
    let told = "note: `[root]/clone/AGENTS.md` is ignored because the repository `[root]/clone` is not trusted; run `kith trust .` in it to trust it\n\
                note: `[root]/clone/src/AGENTS.md` is ignored because the repository `[root]/clone` is not trusted; run `kith trust .` in it to trust it\n";
    let asked = house.kith_in("../clone/src", &["ask", "say hi", "--model", "demo"]).succeeded();
    assert!(asked.shown().ends_with(told), "{}", asked.shown());
    let prompt = house.kith_in("../clone/src", &["prompt"]).succeeded();
    assert!(!prompt.stdout.contains("pirate"));
    assert!(prompt.shown().ends_with(told), "{}", prompt.shown());
    let doctor = house.kith_in("../clone/src", &["doctor"]).succeeded();
    assert!(
        doctor.shown().contains(
            "warn  trust         the house is not part of a repository; the repository `[root]/clone` \
             is not trusted\n                    -> run `kith trust [root]/clone` to use its `AGENTS.md`\n"
        ),
        "{}",
        doctor.shown()
    );

    check!(house.kith_in("../clone/src", &["trust"]), @"
    exit 0
    --- stdout
    trusted `[root]/clone`; new sessions follow its files as your instructions
    ");
    let prompt = house.kith_in("../clone/src", &["prompt"]).succeeded();
    assert!(prompt.stdout.contains("pirate") && prompt.stdout.contains("and sing"));
    // The session that began keeps its snapshot; a new one reads the files.
    let asked = house.kith_in("../clone/src", &["ask", "--new", "say hi", "--model", "demo"]);
    assert_eq!(asked.succeeded().stderr, "");
    let sessions = house.session_files();
    let with_pirates = sessions.iter().map(|it| lines_of(it)[1].to_string().contains("pirate"));
    assert_eq!(with_pirates.collect::<Vec<_>>(), [false, true]);
}

#[test]
fn the_skills_of_a_repository_are_in_force_when_it_is_trusted() {
    let house = beside_a_clone();
    let skill = "---\nname: sail\ndescription: How to sail.\n---\nHoist.\n";
    house.write("../clone/.kith/skills/sail/SKILL.md", skill);
    let names = || {
        let listed = house.kith_in("../clone", &["skill", "ls", "--json"]).json();
        let skills = listed["skills"].as_array().unwrap().iter();
        skills.map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(), Vec::<String>::new());
    house.kith(&["trust", "../clone"]).succeeded();
    assert_eq!(names(), ["sail"]);
}

#[test]
fn what_is_read_in_a_stranger_is_untrusted_and_what_is_trusted_later_is_told() {
    let house = beside_a_clone();
    let ask = |words: &str| {
        house.kith_in("../clone", &["ask", words, "--model", "demo"]).succeeded();
    };
    ask("read AGENTS.md");
    house.kith(&["trust", "../clone"]).succeeded();
    ask("read AGENTS.md");
    let log = house.log();
    let trusts: Vec<&Value> = of_type(&log, "tool_result").iter().map(|it| &it["trust"]).collect();
    assert_eq!(trusts, ["untrusted", "owner"]);
    // The first message was told of no file of the clone, the second of the one that counts there.
    let told =
        of_type(&log, "harness_item").into_iter().map(|it| it["item"]["content"].to_string());
    let told: Vec<String> = told.filter(|it| it.contains("pirate")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(log.iter().position(|it| it["type"] == "harness_item").unwrap() > 6);
    assert_eq!(house.json(&["session", "verify", "latest", "--json"])["ok"], true);
}

#[test]
fn a_team_in_a_repository_is_the_owners_with_its_house() {
    let house = House::empty();
    house.write("repo/.git/HEAD", "ref: refs/heads/main\n");
    let dir = house.path("repo/team").display().to_string();
    house.kith(&["init", &dir, "--yes"]).succeeded();
    house.write("repo/team/kith.toml", "[agents.ux]\nhome = \"agents/ux\"\n");
    house.write("repo/team/agents/ux/Agent.md", "Draw.\n");
    let asked = house.kith_in("repo/team", &["ask", "hi", "--agent", "ux", "--model", "demo"]);
    asked.succeeded();
    let prompt = house.kith_in("repo/team", &["prompt", "--agent", "ux"]).succeeded().stdout;
    assert!(prompt.contains("Draw."), "{prompt}");
}

#[test]
fn a_conversation_that_begins_empty_has_the_audience_of_its_thread() {
    let house = House::new();
    for (thread, audience) in
        [("peer:dm:luna.aid.pub", "peer"), ("telegram:group:1", "shared"), ("cli:room:a", "owner")]
    {
        let made = house.json(&["new", "--thread", thread, "--json"]);
        let session = made["sessionId"].as_str().unwrap();
        let shown = house.json(&["session", "show", session, "--json"]);
        assert_eq!(shown["header"]["audience"], audience, "{thread}");
    }
}

#[test]
fn what_is_trusted_is_listed_and_taken_back_in_stable_forms() {
    let house = beside_a_clone();
    let path = house.path("../clone").canonicalize().unwrap();
    assert_eq!(house.json(&["trust", "ls", "--json"]), json!({ "ok": true, "repositories": [] }));
    assert!(!house.path(".kith").exists(), "listing makes nothing");
    let added = house.json(&["trust", "../clone/src", "--json"]);
    assert_eq!(added, json!({ "ok": true, "path": path }));
    let listed = house.json(&["trust", "ls", "--json"]);
    let row = listed["repositories"][0].as_object().unwrap();
    assert_eq!(row.keys().collect::<Vec<_>>(), ["path", "trustedAt"]);
    assert_eq!(row["path"], json!(path));
    assert!(row["trustedAt"].as_str().unwrap().ends_with('Z'));
    assert_eq!(listed["repositories"].as_array().unwrap().len(), 1);
    let removed = house.json(&["trust", "rm", "../clone", "--json"]);
    assert_eq!(removed, json!({ "ok": true, "path": path }));
    let again = house.kith(&["trust", "rm", "../clone"]).succeeded();
    assert_eq!(again.stdout, "", "it is not called \"no longer trusted\"");
    assert_eq!(again.stderr, "note: it was not trusted; `kith trust ls` lists what is trusted\n");
    assert_eq!(house.json(&["trust", "ls", "--json"])["repositories"], json!([]));
    let prompt = house.kith_in("../clone/src", &["prompt"]).succeeded();
    assert!(!prompt.stdout.contains("pirate"));
}

#[test]
fn another_repository_in_a_trusted_folder_is_untrusted() {
    let house = beside_a_clone();
    house.kith(&["trust", "../clone"]).succeeded();
    fs::rename(house.path("../clone"), house.path("../before")).unwrap();
    house.write("../clone/.git/HEAD", "ref: refs/heads/main\n");
    house.write("../clone/AGENTS.md", "evil\n");
    let prompt = house.kith_in("../clone", &["prompt"]).succeeded();
    assert!(!prompt.stdout.contains("evil"));
    assert!(prompt.stderr.contains("is not trusted"), "{}", prompt.stderr);
    // Where it was can be taken back although nothing is there.
    fs::remove_dir_all(house.path("../clone")).unwrap();
    let removed = house.kith(&["trust", "rm", "../clone"]).succeeded();
    assert_eq!(removed.stderr, "");
    assert_eq!(house.json(&["trust", "ls", "--json"])["repositories"], json!([]));
}

#[test]
fn a_folder_that_cannot_be_trusted_is_reported() {
    let house = beside_a_clone();
    house.write("../plain/x", "");
    check!(house.kith(&["trust", "../plain"]), @"
    exit 1
    --- stderr
    error: cannot trust `../plain`: it is not inside a git repository, so nothing there needs to be trusted
    hint: name a folder inside the repository whose `AGENTS.md` you want to use
    ");
    check!(house.kith(&["trust", "nowhere", "--json"]), @r#"
    exit 1
    --- stdout
    {"ok":false,"error":{"code":"invalid_request","message":"cannot trust `nowhere`: No such file or directory (os error 2)"}}
    "#);
    check!(house.kith(&["trust", "Agent.md"]), @"
    exit 1
    --- stderr
    error: cannot trust `Agent.md`: not a folder
    ");
    assert_eq!(House::empty().kith(&["trust", "."]).code, 1);
    assert_eq!(house.kith(&["trust", ".", "ls"]).code, 2);
}

#[test]
fn a_running_host_notices_what_is_trusted() {
    let vendor = Vendor::new([ServerReply::text("one"), ServerReply::text("two")]);
    let house = beside_a_clone()
        .with("OPENAI_API_KEY", "sk-test-0123456789")
        .with("OPENAI_BASE_URL", &vendor.server.base_url());
    let clone = house.path("../clone").canonicalize().unwrap();
    let mut chat = house.command(&[]).current_dir(&clone).stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = chat.stdin.take().unwrap();
    lines.write_all(b"hello\n").unwrap();
    vendor.until_asked(1);
    house.kith(&["trust", "../clone"]).succeeded();
    lines.write_all(b"/new\nhello again\n").unwrap();
    drop(lines);
    assert!(chat.wait().unwrap().success());
    let systems: Vec<bool> =
        vendor.bodies().iter().map(|it| it["messages"][0].to_string().contains("pirate")).collect();
    assert_eq!(systems, [false, true]);
}

#[test]
fn a_thread_that_others_read_is_told_nothing_private_and_stays_theirs() {
    let house = House::new();
    house.write("MEMORY.md", "the safe is behind the picture\n");
    house.write(".kith/memory/users/owner.md", "likes tea\n");
    check_audience(&house, &[], "owner", true);
    check_audience(&house, &["--thread", "peer:aid:luna.aid.pub"], "peer", false);
    check_audience(&house, &["--thread", "telegram:group:42"], "shared", false);
    check_audience(&house, &["--thread", "web:room:notes"], "owner", true);
    // Spoken to again, by its thread or by its id, a session keeps its audience; so does the next
    // session of its thread.
    let peer = house.json(&["ask", "hi", "--thread", "peer:aid:luna.aid.pub", "--json"]);
    let id = peer["sessionId"].as_str().unwrap();
    house.kith(&["ask", "hi", "--session", id]).succeeded();
    check_audience(&house, &["--thread", "peer:aid:luna.aid.pub", "--new"], "peer", false);
    let shown = house.json(&["session", "show", id, "--json"]);
    assert_eq!(shown["header"]["audience"], "peer");
}

#[test]
fn a_thread_that_others_could_read_once_is_never_the_owners_alone_again() {
    let house = House::new();
    house.write("MEMORY.md", "the safe is behind the picture\n");
    house.write(".kith/memory/users/owner.md", "likes tea\n");
    let mine = house.json(&["ask", "hi", "--json"]);
    let peer = house.json(&["ask", "hi", "--thread", "peer:aid:luna.aid.pub", "--json"]);
    house.kith(&["ask", "hi", "--session", peer["sessionId"].as_str().unwrap()]).succeeded();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let path = house.path(".kith/state.db");
        let desk = SqliteDesk::open(&path, "device".to_owned()).await.unwrap();
        // Spoken to by its id from the owner's folder, it is still the peer's.
        let thread_id = "peer:aid:luna.aid.pub".parse().unwrap();
        let audience = desk.thread_audience("main", &thread_id).await.unwrap();
        assert_eq!(audience, Some(Audience::Peer));
        let row = ThreadRow {
            agent_id: "main".to_owned(),
            thread_id: mine["threadId"].as_str().unwrap().parse().unwrap(),
            session_id: mine["sessionId"].as_str().unwrap().parse().unwrap(),
            audience: Audience::Shared,
            updated_at: 0,
        };
        desk.place_session(row, None).await.unwrap();
    });
    check_audience(&house, &["--new"], "shared", false);
}

/// Asks, and looks at the header and the snapshot of the session.
#[track_caller]
fn check_audience(house: &House, args: &[&str], audience: &str, knows: bool) {
    let answer = house.json(&[&["ask", "hi", "--json"], args].concat());
    let id = answer["sessionId"].as_str().unwrap();
    let shown = house.json(&["session", "show", id, "--json"]);
    assert_eq!(shown["header"]["audience"], audience, "{args:?}");
    let snapshot = shown["events"][0].to_string();
    for secret in ["behind the picture", "likes tea"] {
        assert_eq!(snapshot.contains(secret), knows, "{args:?}: {secret}");
    }
}
