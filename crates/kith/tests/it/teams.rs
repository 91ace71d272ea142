//! Several agents in one house, and who each of them is.

use std::fs;

use serde_json::{Value, json};

use crate::check;
use crate::house::{House, lines_of};
use crate::many::Staying;
use crate::terminal::Terminal;

const SETTINGS: &str = "[agents.ux]\nhome = \"agents/ux\"\n\n[agents.dev]\nhome = \"agents/dev\"\n\
                        identity = { name = \"Dev\", role = \"Builder\" }\n";

/// `main` in the folder itself, `ux` and `dev` beneath it.
fn team() -> House {
    let house = House::new();
    house.write("kith.toml", SETTINGS);
    house.write("agents/ux/Agent.md", "Draw.\n");
    house.write("agents/ux/IDENTITY.md", "name: Uma\nemoji: 🎨\n");
    house.write("agents/dev/Agent.md", "Build.\n");
    house
}

fn agent_of(session: &Value) -> &str {
    session["agentId"].as_str().unwrap()
}

#[test]
fn each_agent_has_its_own_prompt_and_its_own_session_of_the_thread() {
    let house = team();
    let ask = |agent: &[&str]| {
        house.json(&[&["ask", "say hi", "--json", "--model", "demo"], agent].concat())
    };
    let main = ask(&[]);
    let ux = ask(&["--agent", "ux"]);
    assert_eq!(main["threadId"], ux["threadId"]);
    assert_ne!(main["sessionId"], ux["sessionId"]);
    assert_eq!(ask(&["--agent", "ux"])["sessionId"], ux["sessionId"]);
    assert_eq!(ask(&["--agent", "main"])["sessionId"], main["sessionId"]);

    for file in house.session_files() {
        let log = lines_of(&file);
        let prompt = log[1]["snapshot"].to_string();
        match agent_of(&log[0]) {
            "main" => assert!(prompt.contains("Be kind.") && !prompt.contains("Draw.")),
            "ux" => {
                assert!(prompt.contains("Draw.") && prompt.contains("agent id `ux`"), "{prompt}");
                assert!(prompt.contains("You are Uma"), "{prompt}");
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn session_lists_name_the_agent_and_can_be_limited_to_one() {
    let mut house = team();
    for agent in ["main", "ux"] {
        house.kith(&["ask", "say hi", "--model", "demo", "--agent", agent]).succeeded();
    }
    let agents = |args: &[&str]| -> Vec<String> {
        let listed = house.json(&[&["session", "ls", "--json"], args].concat());
        let rows = listed["sessions"].as_array().unwrap().iter();
        rows.map(|row| agent_of(row).to_owned()).collect()
    };
    assert_eq!(agents(&[]), ["ux", "main"]);
    assert_eq!(agents(&["--agent", "main"]), ["main"]);
    assert_eq!(agents(&["--agent", "dev"]), Vec::<String>::new());
    check!(house.kith(&["session", "ls"]), @"
    exit 0
    --- stdout
    [short]  [minute]  idle       ux    cli:room:[cwd]  say hi
    [short]  [minute]  idle       main  cli:room:[cwd]  say hi
    ");
    let header = |args: &[&str]| {
        let shown = house.json(&[&["session", "show", "latest", "--json"], args].concat());
        agent_of(&shown["header"]).to_owned()
    };
    assert_eq!((header(&[]), header(&["--agent", "main"])), ("ux".to_owned(), "main".to_owned()));
    check!(house.kith(&["session", "show", "latest", "--agent", "dev"]), @"
    exit 1
    --- stderr
    error: this agent has no sessions yet
    ");
    house.set("KITH_AGENT", "ux");
    assert_eq!(house.json(&["session", "ls", "--json"])["sessions"].as_array().unwrap().len(), 1);
    house.set("KITH_AGENT", "");
    assert_eq!(house.json(&["session", "ls", "--json"])["sessions"].as_array().unwrap().len(), 2);
}

#[test]
fn an_unknown_agent_is_refused_with_the_nearest_name_and_the_list() {
    let house = team();
    check!(house.kith(&["ask", "hi", "--agent", "uxx"]), @"
    exit 1
    --- stderr
    error: there is no agent `uxx` in this house
    hint: did you mean `ux`?
    hint: agents here: dev, main, ux
    ");
    for args in [
        &["prompt", "--agent", "nobody", "--json"] as &[&str],
        &["session", "ls", "--agent", "nobody", "--json"],
        &["explain", "identity", "--agent", "nobody", "--json"],
    ] {
        let refused = house.json(args);
        assert_eq!(refused["error"]["code"], "invalid_request", "{args:?}");
    }
    fs::remove_file(house.path("Agent.md")).unwrap();
    check!(house.kith(&["ask", "hi"]), @"
    exit 2
    --- stderr
    error: this house has several agents; choose one
    hint: use `--agent ID`; agents here: dev, ux
    ");
    assert!(!house.path(".kith").exists());
    house.kith(&["ask", "say hi", "--agent", "ux", "--model", "demo"]).succeeded();
}

#[test]
fn a_missing_home_is_refused_before_anything_runs() {
    let house = House::empty();
    house.write("kith.toml", "[agents.ux]\nhome = \"agents/ux\"\n");
    check!(house.kith(&["ask", "hi"]), @"
    exit 1
    --- stderr
    error: `[house]/kith.toml` line 2: the home `agents/ux` of agent `ux` cannot be opened: No such file or directory (os error 2)
    hint: create the folder with an `Agent.md`, or `kith agent rm ux`
    ");
    assert_eq!(house.files(), ["kith.toml"]);
}

#[test]
fn a_session_stays_with_its_agent() {
    let house = team();
    let ux = house.json(&["ask", "say hi", "--json", "--model", "demo", "--agent", "ux"]);
    let id = ux["sessionId"].as_str().unwrap();
    let again = house.json(&["ask", "say hi", "--json", "--model", "demo", "--session", id]);
    assert_eq!(again["sessionId"], ux["sessionId"]);
    check!(house.kith(&["ask", "hi", "--model", "demo", "--session", id, "--agent", "dev"]), @"
    exit 1
    --- stderr
    error: session [short] belongs to the agent `ux`
    hint: omit `--agent`, or use `--agent ux`
    ");
    house.write("kith.toml", "");
    check!(house.kith(&["ask", "hi", "--model", "demo", "--session", id]), @"
    exit 1
    --- stderr
    error: there is no agent `ux` in this house
    hint: agents here: main
    ");
    house.kith(&["session", "show", id]).succeeded();
}

#[test]
fn a_host_serves_every_agent_of_its_house() {
    let house = team();
    let mut host = Staying::new(&house, &["--model", "demo", "--agent", "dev"], "say one");
    assert_eq!(host.hear(), "one");
    let ux = house.json(&["ask", "say two", "--json", "--model", "demo", "--agent", "ux"]);
    assert_eq!(ux["text"], "two");
    let main = house.json(&["ask", "say three", "--json", "--model", "demo"]);
    assert_eq!(main["text"], "three");
    host.end();
    let files = house.session_files();
    let mut agents: Vec<String> =
        files.iter().map(|file| agent_of(&lines_of(file)[0]).to_owned()).collect();
    agents.sort();
    assert_eq!(agents, ["dev", "main", "ux"]);
}

#[test]
fn the_first_source_with_a_name_names_the_agent() {
    let house = team();
    let told = |agent: &str| house.json(&["explain", "identity", "--json", "--agent", agent]);
    assert_eq!(
        told("main"),
        json!({ "ok": true, "name": "Assistant", "role": null, "goal": null, "voice": null,
                "emoji": null, "type": null, "style": null, "avatar": null, "source": "default" })
    );
    assert_eq!(told("ux")["name"], "Uma");
    assert_eq!(told("ux")["source"], "IDENTITY.md");
    house.write("agents/dev/IDENTITY.md", "name: Other\nemoji: 🔧\ngoal: Ship it\nvoice: dry\n");
    let dev = told("dev");
    assert_eq!(
        (&dev["name"], &dev["role"], &dev["emoji"]),
        (&json!("Dev"), &json!("Builder"), &json!("🔧"))
    );
    assert_eq!((&dev["goal"], &dev["voice"]), (&json!("Ship it"), &json!("dry")));
    assert_eq!(dev["source"], "kith.toml");
    house.write("../user/.kith/config.toml", "[identity]\nname = \"Boss\"\n");
    for agent in ["main", "ux", "dev"] {
        assert_eq!(told(agent)["name"], "Boss");
        assert_eq!(told(agent)["source"], "~/.kith/config.toml");
    }
    check!(house.kith(&["explain", "identity", "--agent", "ux"]), @"
    exit 0
    --- stdout
    name: Boss
    emoji: 🎨
    The name comes from ~/.kith/config.toml
    ");
    let prompt = house.kith(&["prompt", "--agent", "dev"]).succeeded();
    assert!(prompt.stdout.contains("You are Boss"), "{}", prompt.stdout);
    assert!(prompt.stdout.contains("Role: Builder"), "{}", prompt.stdout);
}

#[test]
fn the_doctor_checks_every_agent() {
    let house = team();
    fs::remove_file(house.path("agents/dev/Agent.md")).unwrap();
    let told = house.json(&["doctor", "--json"]);
    let checks = told["checks"].as_array().unwrap().iter();
    let agents: Vec<&Value> = checks.filter(|check| check["name"] == "agents").collect();
    assert_eq!(agents.len(), 1);
    assert_eq!(agents[0]["detail"], "no Agent.md in `agents/dev` of agent `dev`");
}

#[test]
fn each_agent_has_its_own_skills_the_extra_ones_and_of_all_only_those_it_may_use() {
    let house = team();
    house.write("agents/ux/skills/draw/SKILL.md", "Draws.\n");
    house.write("more/paint/SKILL.md", "Paints.\n");
    house.write("more/weld/SKILL.md", "Welds.\n");
    let settings = format!("[skills]\nextra = [\"more\"]\n{SETTINGS}skills = [\"weld\"]\n");
    house.write("kith.toml", settings);
    let names = |agent: &str| -> Vec<String> {
        let listed = house.json(&["skill", "ls", "--json", "--agent", agent]);
        let skills = listed["skills"].as_array().unwrap().iter();
        skills.map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("ux"), ["draw", "paint", "weld"]);
    assert_eq!(names("dev"), ["weld"]);
    assert_eq!(names("main"), ["paint", "weld"]);
}

#[test]
fn a_backup_holds_every_agent() {
    let house = team();
    let copy = house.path("../copy").display().to_string();
    house.kith(&["backup", &copy]).succeeded();
    let named = house.json(&["--home", &copy, "explain", "identity", "--agent", "ux", "--json"]);
    assert_eq!(named["name"], "Uma");
    house.write("kith.toml", "[agnets]\n");
    let second = house.path("../second").display().to_string();
    let ran = house.kith(&["backup", &second]).succeeded();
    assert!(
        ran.stderr.contains("note: only the agent of this folder was copied"),
        "{}",
        ran.stderr
    );
}

#[test]
fn each_agent_has_threads_and_scripts_of_its_own() {
    let house = team();
    for agent in ["ux", "main"] {
        house.kith(&["ask", agent, "--agent", agent, "--model", "demo"]).succeeded();
        house.kith(&["prime", "save", "latest", "mine", "--agent", agent]).succeeded();
    }
    assert!(house.path(".kith/threads/ux").is_dir());
    for agent in ["ux", "main"] {
        let shown = house.json(&["thread", "show", "cli:", "--agent", agent, "--json"]);
        assert_eq!(shown[0]["parts"][0]["text"], agent, "{shown}");
        let threads = house.json(&["thread", "ls", "--agent", agent, "--json"]);
        assert_eq!(threads["threads"].as_array().unwrap().len(), 1, "{threads}");
        let listed = house.json(&["prime", "ls", "--agent", agent, "--json"]);
        let listed = listed["scripts"].as_array().unwrap();
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!(listed[0]["scriptRef"], format!("individual/{agent}/mine"));
    }
    let others = house.kith(&["new", "--prime", "individual/ux/mine", "--agent", "main", "--json"]);
    assert_eq!(others.json()["error"]["code"], "invalid_request");
    let own = house.json(&["new", "--prime", "individual/ux/mine", "--agent", "ux", "--json"]);
    let session = own["sessionId"].as_str().unwrap();
    let header = &house.json(&["session", "show", session, "--json"])["header"];
    assert_eq!(header["agentId"], "ux");
}

#[test]
fn an_agent_is_added_listed_and_removed() {
    let house = House::empty();
    house.kith(&["init", "."]).succeeded();
    house.write("kith.toml", "# mine\n[ui]\nlanguage = \"en\" # for now\n");
    check!(house.kith(&["agent", "new", "ux"]), @"
    exit 0
    --- stdout
    Added agent `ux` in `agents/ux`

    Talk to it:
      kith --agent ux
    ");
    let settings = fs::read_to_string(house.path("kith.toml")).unwrap();
    assert_eq!(
        settings,
        "# mine\n[ui]\nlanguage = \"en\" # for now\n\n[agents.ux]\nhome = \"agents/ux\"\n"
    );
    assert!(
        house.path("agents/ux/Agent.md").exists() && !house.path("agents/ux/kith.toml").exists()
    );
    check!(house.kith(&["agent", "ls"]), @"
    exit 0
    --- stdout
    main  .  (default)
    ux    agents/ux
    ");
    let answer = house.json(&["ask", "say hi", "--agent", "ux", "--model", "demo", "--json"]);
    assert_eq!(answer["ok"], true, "{answer}");
    check!(house.kith(&["agent", "rm", "ux"]), @"
    exit 0
    --- stdout
    Removed agent `ux` from kith.toml
    --- stderr
    note: its files stay in `agents/ux`, and its sessions where they are
    ");
    let settings = fs::read_to_string(house.path("kith.toml")).unwrap();
    assert!(settings.starts_with("# mine\n[ui]\nlanguage = \"en\" # for now\n"), "{settings}");
    let listed = house.json(&["agent", "ls", "--json"]);
    assert_eq!(listed["agents"], json!([{ "agentId": "main", "home": ".", "default": true }]));
    assert!(house.path("agents/ux/Agent.md").exists());
}

#[test]
fn an_agent_that_cannot_be_added_or_removed_is_refused_and_nothing_changes() {
    let house = team();
    for args in [
        &["agent", "new", "Ada"] as &[&str],
        &["agent", "new", "ux"],
        &["agent", "new", "x", "--in", "../x"],
        &["agent", "new", "x", "--in", "/tmp/x"],
        &["agent", "new", "x", "--in", ".kith/x"],
        &["agent", "rm", "main"],
        &["agent", "rm", "nobody"],
    ] {
        let ran = house.kith(args);
        assert_eq!(ran.code, 1, "{args:?}: {}", ran.shown());
        assert!(ran.stderr.contains("hint: "), "{args:?}: {}", ran.shown());
        assert_eq!(fs::read_to_string(house.path("kith.toml")).unwrap(), SETTINGS, "{args:?}");
    }
}

#[test]
fn a_missing_home_stops_only_its_agent() {
    let house = team();
    fs::remove_dir_all(house.path("agents/dev")).unwrap();
    for agent in ["main", "ux"] {
        house.kith(&["ask", "say hi", "--model", "demo", "--agent", agent]).succeeded();
    }
    check!(house.kith(&["ask", "hi", "--agent", "dev"]), @"
    exit 1
    --- stderr
    error: `[house]/kith.toml` line 5: the home `agents/dev` of agent `dev` cannot be opened: No such file or directory (os error 2)
    hint: create the folder with an `Agent.md`, or `kith agent rm dev`
    ");
    let listed = house.json(&["agent", "ls", "--json"]);
    assert!(listed["agents"][0]["problem"].as_str().unwrap().contains("agents/dev"), "{listed}");
    let doctor = house.kith(&["doctor"]);
    assert!(doctor.stdout.contains("fail  agents"), "{}", doctor.stdout);
    house.kith(&["agent", "rm", "dev"]).succeeded();
    assert_eq!(house.json(&["agent", "ls", "--json"])["agents"].as_array().unwrap().len(), 2);
}

#[test]
fn standing_in_an_agents_home_means_that_agent() {
    let house = team();
    let agent = |folder: &str, args: &[&str]| {
        let args = [&["explain", "identity", "--json"], args].concat();
        house.kith_in(folder, &args).json()["name"].clone()
    };
    house.write("agents/ux/notes/x", "");
    assert_eq!(agent("agents/ux", &[]), "Uma");
    assert_eq!(agent("agents/ux/notes", &[]), "Uma");
    assert_eq!(agent("agents/ux", &["--agent", "dev"]), "Dev");
    assert_eq!(agent("agents", &[]), "Assistant");
    let answer = house.kith_in("agents/ux", &["ask", "say hi", "--model", "demo", "--json"]).json();
    let session = answer["sessionId"].as_str().unwrap();
    assert_eq!(house.json(&["session", "show", session, "--json"])["header"]["agentId"], "ux");
    // A session that is named is its own agent's, wherever one stands.
    let main = house.json(&["ask", "say hi", "--model", "demo", "--json"]);
    let id = main["sessionId"].as_str().unwrap();
    house.kith_in("agents/ux", &["ask", "hi", "--session", id, "--model", "demo"]).succeeded();
}

#[test]
fn init_inside_a_house_asks_which_is_meant() {
    let house = team();
    check!(house.kith(&["init", "agents/qa"]), @"
    exit 1
    --- stderr
    error: `agents/qa` is inside the house `[house]`
    hint: `kith agent new qa` adds an agent to that house
    hint: `kith init agents/qa --yes` creates a house of its own
    ");
    assert!(!house.path("agents/qa").exists());
    let mut terminal = Terminal::start(&house, &["init", "agents/qa"], &[]);
    terminal.until("Create a separate house there? [y/N]");
    terminal.press("n\r");
    let (code, shown, _) = terminal.end();
    assert_eq!((code, house.path("agents/qa").exists()), (1, false), "{shown}");
    house.kith(&["init", "agents/qa", "--yes"]).succeeded();
    // What is a house already is completed without a question.
    house.kith(&["init", "agents/qa"]).succeeded();
    house.kith(&["init", "."]).succeeded();
}

#[test]
fn settings_that_a_command_cannot_change_stay_as_they_are() {
    let house = House::new();
    let text = "agents = { main = { home = \".\" } }\n";
    house.write("kith.toml", text);
    let ran = house.kith(&["agent", "new", "ux"]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    assert!(ran.stderr.contains("cannot be changed by a command"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(house.path("kith.toml")).unwrap(), text);
    house.kith(&["ask", "--model", "demo", "say still here"]).succeeded();
}
