//! Attempts to get out of the sandbox, by hand and by name. None may succeed, neither as root nor as a
//! user without privileges.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Stdio};

use kith_testkit::another_user::{is_superuser, not_run, run_as_nobody};

use crate::house::{House, KITH, Ran};

/// A probe exits with 0 if it got through. `{pid}`, `{port}`, `{abstract}`, `{user}` and `{outside}`
/// stand for a process, a port, a socket, the user's home and a folder outside. Descriptor 9 is a file
/// outside that whoever started the program forgot to close.
const PROBES: [(&str, &str); 83] = [
    // The self, present and absent.
    ("change_a_prompt_file", "echo x >> Agent.md"),
    ("truncate_a_prompt_file", ": > Agent.md"),
    ("remove_a_prompt_file", "rm -f Agent.md"),
    ("rename_a_prompt_file", "mv Agent.md gone.md"),
    ("rename_over_a_prompt_file", "echo x > new && mv -f new Agent.md"),
    (
        "exchange_a_prompt_file",
        "echo x > new && perl -e 'my ($a, $b) = (\"new\", \"Agent.md\"); exit(syscall(316, -100, $a, -100, $b, 2) == 0 ? 0 : 1)'",
    ),
    ("change_the_mode_of_a_prompt_file", "chmod 777 Agent.md"),
    ("hard_link_to_a_prompt_file", "ln Agent.md other && echo x >> other"),
    ("write_through_a_link_to_a_prompt_file", "ln -s Agent.md link && echo x >> link"),
    ("create_an_absent_prompt_file", "echo x > SOUL.md"),
    ("rename_to_an_absent_prompt_file", "echo x > new && mv -f new SOUL.md"),
    ("exchange_an_absent_prompt_file", "echo x > new; mv -fT new SOUL.md"),
    ("remove_what_stands_for_an_absent_prompt_file", "rmdir SOUL.md; echo x > SOUL.md"),
    ("link_an_absent_prompt_file", "ln -sf new IDENTITY.md"),
    ("make_an_absent_protected_folder", "mkdir skills || mkdir skills/x"),
    ("write_into_memory", "echo x > memory/new.md"),
    ("move_memory_away", "mv memory old && mkdir memory"),
    ("write_through_a_protected_link", "echo x >> USER.md"),
    ("replace_a_protected_link", "rm -f USER.md && echo x > USER.md"),
    ("write_to_the_target_of_a_protected_link", "echo x >> notes/user.md"),
    (
        "swap_the_folder_of_the_target_of_a_protected_link",
        "mv notes old && mkdir notes && echo x > notes/user.md",
    ),
    ("replace_a_link_on_the_way_to_a_prompt_file", "rm -f hop && echo x > hop"),
    ("create_the_absent_target_of_a_protected_link", "echo x > notes/later.md"),
    ("change_settings", "echo 'x = 1' > kith.toml"),
    ("read_the_private_folder", "grep -r secret .kith"),
    ("write_into_the_private_folder", "echo x > .kith/new"),
    ("replace_the_private_folder", "mv .kith old && mkdir .kith"),
    (
        "connect_to_the_host",
        "perl -MIO::Socket::UNIX -e 'exit(IO::Socket::UNIX->new(Peer => \".kith/host.sock\") ? 0 : 1)'",
    ),
    // Another house in the workspace.
    ("change_a_prompt_file_of_another_house", "echo x >> vendor/other/Agent.md"),
    ("create_an_absent_prompt_file_of_another_house", "echo x > vendor/other/SOUL.md"),
    ("write_into_the_memory_of_another_house", "echo x > vendor/other/memory/new.md"),
    ("change_settings_of_another_house", "echo 'x = 1' > vendor/other/kith.toml"),
    ("read_the_token_of_another_house", "grep secret vendor/other/.kith/http-token"),
    ("write_into_the_private_folder_of_another_house", "echo x > vendor/other/.kith/new"),
    ("swap_a_folder_above_another_house", "mv vendor/other old && cp -r old vendor/other"),
    (
        "connect_to_the_host_of_another_house",
        "cd vendor/other && perl -MIO::Socket::UNIX -e 'exit(IO::Socket::UNIX->new(Peer => \".kith/host.sock\") ? 0 : 1)'",
    ),
    ("change_the_configuration_of_git", "echo x >> .git/config"),
    ("plant_a_git_hook", "echo x > .git/hooks/pre-commit"),
    ("replace_the_git_folder", "mv .git old && cp -r old .git"),
    ("plant_a_common_folder_for_git", "echo ../evil > .git/commondir"),
    ("rename_to_a_common_folder_for_git", "echo ../evil > new && mv -fT new .git/commondir"),
    ("plant_a_configuration_of_a_worktree", "echo x > .git/config.worktree"),
    ("change_the_configuration_of_a_submodule", "echo x >> .git/modules/lib/config"),
    ("plant_a_hook_in_a_submodule", "echo x > .git/modules/lib/hooks/pre-commit"),
    ("plant_a_submodule", "mkdir -p .git/modules/new && echo x > .git/modules/new/config"),
    ("change_the_folder_of_a_linked_worktree", "echo ../evil > .git/worktrees/w/commondir"),
    ("change_the_configuration_of_a_nested_repository", "echo x >> vendor/lib/.git/config"),
    ("replace_a_nested_repository", "mv vendor/lib/.git old && cp -r old vendor/lib/.git"),
    ("swap_a_folder_above_a_nested_repository", "mv vendor old && cp -r old vendor"),
    ("change_the_configuration_of_a_bare_repository", "echo x >> bare.git/config"),
    (
        "plant_a_hook_in_a_bare_repository",
        "mkdir -p bare.git/hooks && echo x > bare.git/hooks/update",
    ),
    ("change_where_a_submodule_is", "echo 'gitdir: ../evil' > sub/.git"),
    // Files elsewhere.
    ("write_to_the_system", "echo x > /etc/kith-probe"),
    ("write_outside", "echo x > {outside}/new"),
    ("read_outside", "cat {outside}/file"),
    ("write_outside_through_a_link", "echo x > out/new"),
    (
        "write_outside_through_the_root_of_a_process",
        "echo x > /proc/1/root{outside}/new || echo x > /proc/1/cwd{outside}/new",
    ),
    ("read_keys_of_the_user", "cat {user}/.ssh/id_ed25519"),
    ("read_tokens_of_a_package_manager", "cat {user}/.cargo/credentials.toml | grep token"),
    ("read_passwords_of_the_system", "grep . /etc/shadow"),
    ("read_an_inherited_descriptor", "cat <&9"),
    ("set_the_bit_of_the_owner", "cp /bin/true t && chmod 4755 t && test -u t"),
    ("set_the_bit_of_the_group", "cp /bin/true t && chmod g+s t && test -g t"),
    (
        "make_a_file_with_the_bit_of_the_owner",
        "perl -MFcntl -e 'sysopen(F, \"t\", O_CREAT | O_WRONLY, 04755) or exit 1' && test -u t",
    ),
    (
        "open_a_file_with_the_bit_of_the_owner_by_the_newest_call",
        "perl -e 'my $how = pack(\"QQQ\", 0101, 04755, 0); my $t = \"t\"; \
         exit(syscall(437, -100, $t, $how, 24) >= 0 ? 0 : 1)' && test -u t",
    ),
    // The kernel.
    ("change_the_core_pattern", "echo '|/tmp/x' > /proc/sys/kernel/core_pattern"),
    ("trigger_a_kernel_request", "echo h > /proc/sysrq-trigger"),
    ("write_to_sys", "echo 1 > /sys/kernel/mm/ksm/run"),
    ("mount_a_file_system", "mount -t tmpfs none /tmp"),
    ("unmount_a_guard", "umount Agent.md || umount .kith"),
    ("remount_writable", "mount -o remount,rw /usr"),
    ("make_a_user_namespace", "unshare -U true"),
    (
        "make_a_user_namespace_by_clone",
        "perl -e 'my $p = syscall(56, 0x10000000 | 17, 0, 0, 0, 0); exit 1 if $p < 0; exit 0'",
    ),
    ("change_the_root", "/usr/sbin/chroot / true"),
    ("make_a_device", "mknod disk b 8 0"),
    (
        "trace_a_process",
        "sleep 9 & perl -e 'exit(syscall(101, 16, 0 + $ARGV[0], 0, 0) == 0 ? 0 : 1)' $!; \
         traced=$?; kill -9 $!; exit $traced",
    ),
    (
        "read_the_memory_of_the_first_process",
        "head -c 1 /proc/1/mem || cat /proc/1/environ || cat /proc/1/maps",
    ),
    ("use_kernel_keys", "perl -e 'exit(syscall(250, 0, -3, 0) >= 0 ? 0 : 1)'"),
    ("make_an_io_ring", "perl -e 'my $p = \"\\0\" x 120; exit(syscall(425, 1, $p) >= 0 ? 0 : 1)'"),
    // Others.
    ("signal_a_process_outside", "kill -0 {pid}"),
    ("connect_to_the_machine", "exec 3<>/dev/tcp/127.0.0.1/{port}"),
    (
        "connect_to_an_abstract_socket",
        "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); exit(connect(S, pack_sockaddr_un(\"\\0{abstract}\")) ? 0 : 1)'",
    ),
    (
        "find_a_secret_in_the_environment",
        "env | grep probe-secret || cat /proc/*/environ | grep -a probe-secret",
    ),
];

/// The same, tried in a home that lies two folders deep in a workspace.
const DEEP_PROBES: [(&str, &str); 8] = [
    (
        "swap_a_folder_above_a_home",
        "cd ../.. && mv deep old && mkdir -p deep/home && echo x > deep/home/Agent.md",
    ),
    ("change_a_prompt_file_of_a_deep_home", "echo x >> Agent.md"),
    ("plant_settings_in_a_folder_above", "echo x > ../kith.toml"),
    ("plant_a_constitution_in_a_folder_above", "echo x > ../Agent.md"),
    ("plant_a_prompt_file_in_a_folder_above", "echo x > ../BOOT.md"),
    ("plant_a_prompt_file_in_the_workspace", "echo x > ../../SOUL.md"),
    ("plant_a_house_in_a_folder_above", "mkdir -p ../.kith && echo x > ../.kith/state.db"),
    ("plant_a_repository_in_a_folder_above", "mkdir -p ../.git && echo x > ../.git/config"),
];

const INHERIT: &str = "exec 9< {outside}/file;";

/// A house with something to protect, and things outside to reach for.
struct World {
    house: House,
    outside: std::path::PathBuf,
    victim: Child,
    listener: TcpListener,
    abstract_name: String,
    _sockets: [UnixListener; 3],
}

impl World {
    fn new() -> World {
        let mut house = House::new();
        house.set("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        house.set("ANTHROPIC_API_KEY", "probe-secret");
        house.write("memory/2026-11-15.md", "a note\n");
        house.write("notes/user.md", "about me\n");
        symlink("notes/user.md", house.path("USER.md")).unwrap();
        house.write("notes/tools.md", "tools\n");
        symlink("notes/tools.md", house.path("hop")).unwrap();
        symlink("hop", house.path("TOOLS.md")).unwrap();
        symlink("notes/later.md", house.path("HEARTBEAT.md")).unwrap();
        house.write(".kith/keys", "secret\n");
        house.write(".git/config", "[core]\n");
        house.write(".git/HEAD", "ref: refs/heads/main\n");
        house.write(".git/hooks/README", "x\n");
        house.write(".git/modules/lib/config", "[core]\n");
        house.write(".git/modules/lib/hooks/README", "x\n");
        house.write(".git/worktrees/w/commondir", "../..\n");
        house.write("vendor/lib/.git/config", "[core]\n");
        house.write("vendor/other/Agent.md", "Be another.\n");
        house.write("vendor/other/memory/2026-11-15.md", "a note\n");
        house.write("vendor/other/.kith/http-token", "secret\n");
        house.write("bare.git/HEAD", "ref: refs/heads/main\n");
        house.write("bare.git/config", "[core]\n");
        house.write("bare.git/objects/x", "x\n");
        house.write("bare.git/refs/heads/main", "x\n");
        house.write("sub/.git", "gitdir: ../.git/modules/lib\n");
        house.write("deep/home/Agent.md", "Be deep.\n");
        let root = house.path("").parent().unwrap().to_owned();
        let outside = root.join("outside");
        for (name, text) in [
            ("outside/file", "secret"),
            ("user/.ssh/id_ed25519", "secret"),
            ("user/.cargo/credentials.toml", "token = 'secret'"),
        ] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink(&outside, house.path("out")).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let abstract_name = format!("kith-probe-{}", listener.local_addr().unwrap().port());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let sockets = [
            bind_in(&house.path(".kith"), "host.sock"),
            bind_in(&house.path("vendor/other/.kith"), "host.sock"),
            UnixListener::bind_addr(&address).unwrap(),
        ];
        let victim = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap();
        World { house, outside, victim, listener, abstract_name, _sockets: sockets }
    }

    fn sandboxed(&self, script: &str) -> Ran {
        self.sandboxed_in("", script)
    }

    fn sandboxed_in(&self, folder: &str, script: &str) -> Ran {
        let folder = self.house.path(folder);
        let start = self.filled(&format!("{INHERIT} cd '{}'; exec \"$@\"", folder.display()));
        let script = self.filled(script);
        let behind = ["/bin/bash", "-c", &start, "bash"];
        self.house.behind(&behind, &["sandbox", "--", "/bin/bash", "-c", &script]).unwrap()
    }

    /// The script with the names of this world in it.
    fn filled(&self, script: &str) -> String {
        let port = self.listener.local_addr().unwrap().port().to_string();
        let user = self.outside.with_file_name("user");
        script
            .replace("{pid}", &self.victim.id().to_string())
            .replace("{port}", &port)
            .replace("{abstract}", &self.abstract_name)
            .replace("{user}", user.to_str().unwrap())
            .replace("{outside}", self.outside.to_str().unwrap())
    }

    /// Everything that no probe may change.
    fn kept(&self) -> Vec<(String, String)> {
        let root = self.outside.parent().unwrap();
        let shown = |path: &str| {
            let path = root.join(path);
            let text = fs::read_link(&path).map(|it| it.to_string_lossy().into_owned());
            text.or_else(|_| fs::read_to_string(&path)).unwrap_or_else(|it| it.kind().to_string())
        };
        let files = [
            "house/Agent.md",
            "house/SOUL.md",
            "house/IDENTITY.md",
            "house/USER.md",
            "house/kith.toml",
            "house/skills",
            "house/notes/user.md",
            "house/memory/2026-11-15.md",
            "house/memory/new.md",
            "house/.kith/keys",
            "house/.kith/new",
            "house/.git/config",
            "house/.git/hooks/pre-commit",
            "house/.git/commondir",
            "house/.git/config.worktree",
            "house/.git/modules/lib/config",
            "house/.git/modules/lib/hooks/pre-commit",
            "house/.git/modules/new/config",
            "house/.git/worktrees/w/commondir",
            "house/vendor/lib/.git/config",
            "house/vendor/other/Agent.md",
            "house/vendor/other/SOUL.md",
            "house/vendor/other/kith.toml",
            "house/vendor/other/memory/new.md",
            "house/vendor/other/.kith/new",
            "house/bare.git/HEAD",
            "house/bare.git/config",
            "house/bare.git/hooks/update",
            "house/sub/.git",
            "house/hop",
            "house/TOOLS.md",
            "house/notes/tools.md",
            "house/notes/later.md",
            "house/deep/home/Agent.md",
            "house/deep/.git/config",
            "house/deep/kith.toml",
            "house/deep/Agent.md",
            "house/deep/BOOT.md",
            "house/deep/.kith/state.db",
            "outside/file",
            "outside/new",
            "user/.ssh/id_ed25519",
        ];
        files.iter().map(|it| ((*it).to_owned(), shown(it))).collect()
    }
}

/// Binds by way of the folder's descriptor: the whole path may be too long for a socket.
fn bind_in(folder: &std::path::Path, name: &str) -> UnixListener {
    use std::os::fd::AsRawFd;
    let folder = fs::File::open(folder).unwrap();
    UnixListener::bind(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd())).unwrap()
}

impl Drop for World {
    fn drop(&mut self) {
        self.victim.kill().unwrap();
        self.victim.wait().unwrap();
    }
}

/// Whether this machine can make a sandbox at all. Only the kernel may say no: a sandbox that fails for
/// another reason would make every test here pass.
fn has_sandbox(world: &World) -> bool {
    let ran = world.sandboxed("exit 7");
    if ran.code == 3 && ran.stderr.contains("this system allows no namespaces") {
        not_run(&format!("this machine allows no sandbox: {}", ran.shown()));
        return false;
    }
    assert_eq!(ran.code, 7, "{}", ran.shown());
    true
}

fn try_to_escape() {
    let world = World::new();
    if !has_sandbox(&world) {
        return;
    }
    let kept = world.kept();
    let mut escaped = Vec::new();
    let deep = DEEP_PROBES.iter().map(|probe| (probe, "deep/home"));
    for ((name, script), folder) in PROBES.iter().map(|probe| (probe, "")).chain(deep) {
        let ran = world.sandboxed_in(folder, script);
        // 3: there was no sandbox; 126 and 127: the probe could not even try; 137: it hung.
        if [0, 3, 126, 127, 137].contains(&ran.code) {
            escaped.push(format!("{name}: {}", ran.shown()));
        }
        if world.kept() != kept {
            escaped.push(format!("{name} changed something: {:#?}", world.kept()));
            break;
        }
    }
    assert_eq!(escaped, Vec::<String>::new());
}

#[test]
fn no_probe_escapes_from_the_sandbox() {
    try_to_escape();
}

#[test]
fn no_probe_escapes_as_a_user_without_privileges() {
    let test = "sandbox::no_probe_escapes_as_a_user_without_privileges";
    if is_superuser() { run_as_nobody(test, Some(KITH), &[]) } else { try_to_escape() }
}

/// The probes that only touch a test's own files, sockets and processes.
fn is_harmless(name: &str) -> bool {
    let first_of_the_system = PROBES.iter().position(|it| it.0 == "write_to_the_system").unwrap();
    let place = PROBES.iter().position(|it| it.0 == name).unwrap();
    let others = [
        "write_outside",
        "read_outside",
        "write_outside_through_a_link",
        "read_keys_of_the_user",
        "read_tokens_of_a_package_manager",
        "read_an_inherited_descriptor",
        "set_the_bit_of_the_owner",
        "set_the_bit_of_the_group",
        "make_a_file_with_the_bit_of_the_owner",
        "open_a_file_with_the_bit_of_the_owner_by_the_newest_call",
        "signal_a_process_outside",
        "connect_to_the_machine",
        "connect_to_an_abstract_socket",
        "make_a_user_namespace",
        "make_a_user_namespace_by_clone",
        "trace_a_process",
        "use_kernel_keys",
        "make_an_io_ring",
    ];
    place < first_of_the_system || others.contains(&name)
}

#[test]
fn probes_get_through_where_there_is_no_sandbox() {
    let mut failed = Vec::new();
    let deep = DEEP_PROBES.iter().map(|probe| (probe, "deep/home"));
    let harmless = PROBES.iter().filter(|it| is_harmless(it.0)).map(|probe| (probe, ""));
    for ((name, script), folder) in harmless.chain(deep) {
        let world = World::new();
        let mut bash = Command::new("/bin/bash");
        let script = world.filled(&format!("{INHERIT} {script}"));
        let ran = bash.args(["-c", &script]).current_dir(world.house.path(folder)).output();
        let ran = ran.unwrap();
        if !ran.status.success() {
            failed.push(format!("{name}: {}", String::from_utf8_lossy(&ran.stderr)));
        }
    }
    assert_eq!(failed, Vec::<String>::new());
}

#[test]
fn a_sandbox_leaves_the_workspace_writable_and_nothing_behind() {
    let world = World::new();
    if !has_sandbox(&world) {
        return;
    }
    let before = everything(&world.house.path(""));
    let ran = world.sandboxed("echo hello > new.txt && cat new.txt USER.md TOOLS.md && exit 5");
    assert_eq!((ran.code, ran.stdout.as_str()), (5, "hello\nabout me\ntools\n"), "{}", ran.shown());
    fs::remove_file(world.house.path("new.txt")).unwrap();
    assert_eq!(everything(&world.house.path("")), before);
}

#[test]
fn everything_that_was_started_ends_with_the_command() {
    let world = World::new();
    if !has_sandbox(&world) {
        return;
    }
    // The grandchild holds the pipe; without an end of its own the run would never be over.
    let script = "(setsid sh -c 'sleep 300; echo x > late' & disown) ; exit 4";
    assert_eq!(world.sandboxed(script).code, 4);
    assert!(!world.house.path("late").exists());
}

#[test]
fn a_protected_file_with_a_second_name_is_refused() {
    let world = World::new();
    if !has_sandbox(&world) {
        return;
    }
    fs::hard_link(world.house.path("Agent.md"), world.house.path("twin.md")).unwrap();
    let ran = world.sandboxed("echo x >> twin.md");
    assert_eq!(ran.code, 3, "{}", ran.shown());
    assert!(ran.stderr.contains("second name (hard link)"), "{}", ran.stderr);
}

#[test]
fn a_killed_program_leaves_nothing_running() {
    let world = World::new();
    if !has_sandbox(&world) {
        return;
    }
    let fifo = world.house.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    let script = "exec 3> pipe; echo started >&3; sleep 600";
    let mut child =
        world.house.command(&["sandbox", "--", "/bin/bash", "-c", script]).spawn().unwrap();
    let mut reader = std::io::BufReader::new(fs::File::open(&fifo).unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
    assert_eq!(line, "started\n");
    child.kill().unwrap();
    child.wait().unwrap();
    // The other end closes only when the last process of the sandbox is gone.
    std::io::Read::read_to_string(&mut reader, &mut line).unwrap();
}

/// Every file and folder beneath this one.
fn everything(folder: &std::path::Path) -> Vec<String> {
    let found = Command::new("find").arg(folder).output().unwrap();
    let mut paths: Vec<String> =
        String::from_utf8(found.stdout).unwrap().lines().map(str::to_owned).collect();
    paths.sort();
    paths
}

/// A house in a repository of git, with a command that runs in its sandbox until it is told to end.
struct Busy {
    house: House,
    child: Child,
    reader: std::io::BufReader<fs::File>,
}

impl Busy {
    fn new() -> Option<Busy> {
        Busy::with("cat .git/in; git add -A; git commit -m two")
    }

    fn with(script: &str) -> Option<Busy> {
        let mut house = House::new();
        house.set("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        let begin = "git init -q && git config user.email a@example.org && git config user.name A \
                     && git add . && git commit -qm one && mkfifo .git/out .git/in";
        if outside(&house, begin).code != 0 {
            not_run("there is no git");
            return None;
        }
        if house.kith(&["sandbox", "--", "true"]).stderr.contains("allows no namespaces") {
            not_run("this machine allows no sandbox");
            return None;
        }
        let script = format!("exec 3> .git/out; echo started >&3; {script}");
        let arguments = ["sandbox", "--", "/bin/bash", "-c", &script];
        let child = house.command(&arguments).stdin(Stdio::null()).spawn().unwrap();
        let out = fs::File::open(house.path(".git/out")).unwrap();
        let mut reader = std::io::BufReader::new(out);
        let mut line = String::new();
        std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
        assert_eq!(line, "started\n");
        Some(Busy { house, child, reader })
    }

    /// Lets the command go on to its end.
    fn finish(mut self) -> (House, String) {
        fs::write(self.house.path(".git/in"), "").unwrap();
        let mut output = String::new();
        std::io::Read::read_to_string(self.child.stdout.as_mut().unwrap(), &mut output).unwrap();
        self.child.wait().unwrap();
        (self.house, output)
    }
}

/// Runs a script in the house, without a sandbox.
pub(crate) fn outside(house: &House, script: &str) -> Ran {
    let mut bash = Command::new("/bin/bash");
    bash.args(["-c", script]).current_dir(house.path("")).stdin(Stdio::null());
    let output = bash.output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        root: String::new(),
    }
}

#[test]
fn git_does_not_see_what_stands_for_absent_files() {
    let Some(busy) = Busy::new() else { return };
    assert!(busy.house.path("SOUL.md").exists());
    let status = outside(&busy.house, "git status --porcelain --ignored && git log --oneline");
    assert_eq!((status.code, status.stdout.lines().count()), (0, 1), "{}", status.shown());
    let (house, output) = busy.finish();
    assert!(output.contains("nothing to commit, working tree clean"), "{output}");
    assert!(!house.path("SOUL.md").exists() && !house.path(".git/commondir").exists());
}

/// Replaces a protected file beside a command that would change it later.
fn replaced_beside(name: &str, replace: &str) {
    let plant = format!("sleep 20; echo planted >> {name}");
    let Some(busy) = Busy::with(&plant) else { return };
    let replaced = outside(&busy.house, replace);
    assert_eq!(replaced.code, 0, "{}", replaced.shown());
    let Busy { house, mut child, .. } = busy;
    let mut said = String::new();
    std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{said}");
    let path = house.path(name).canonicalize().unwrap();
    let told = format!("was replaced while the command ran: `{}`", path.display());
    assert!(said.contains(&told), "{said}");
    assert!(!fs::read_to_string(path).unwrap().contains("planted"));
}

#[test]
fn a_command_ends_when_git_replaces_its_settings_beside_it() {
    replaced_beside(".git/config", "git config user.name Owner");
}

#[test]
fn a_command_ends_when_a_prompt_file_is_replaced_beside_it() {
    replaced_beside("Agent.md", "cp Agent.md new && mv new Agent.md");
}

#[test]
fn a_command_ends_when_a_prompt_file_is_moved_away_beside_it() {
    // As editors do that keep the old version.
    replaced_beside("Agent.md", "mv Agent.md Agent.md~ && cp Agent.md~ Agent.md");
}

#[test]
fn an_agent_made_beside_a_running_sandbox_is_told_why_it_must_wait() {
    let Some(busy) = Busy::new() else { return };
    let ran = busy.house.kith(&["init", ".", "--yes"]);
    assert_ne!(ran.code, 0, "{}", ran.shown());
    assert!(ran.stderr.contains("a command of the agent runs in this folder"), "{}", ran.shown());
    let (house, _) = busy.finish();
    house.kith(&["init", ".", "--yes"]).succeeded();
    assert!(house.path("USER.md").is_file());
}

/// Kills the supervisor, which would clean up; the kernel then ends the rest.
fn cut_power(mut busy: Busy) -> House {
    let children = format!("/proc/{0}/task/{0}/children", busy.child.id());
    let supervisor = fs::read_to_string(children).unwrap();
    let killed = Command::new("kill").args(["-9", supervisor.trim()]).status().unwrap();
    assert!(killed.success());
    std::io::Read::read_to_string(&mut busy.reader, &mut String::new()).unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(busy.child.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(busy.child.wait().unwrap().code(), Some(3), "{said}");
    assert!(said.contains("the command may have run"), "{said}");
    let house = busy.house;
    assert!(house.path("SOUL.md").is_dir() && house.path(".git/commondir").is_file());
    assert_eq!(outside(&house, "git status --porcelain").stdout, "");
    house
}

#[test]
fn what_a_power_cut_leaves_behind_is_removed_by_the_next_run() {
    let Some(busy) = Busy::new() else { return };
    let house = cut_power(busy);
    house.kith(&["sandbox", "--", "true"]).succeeded();
    assert!(!house.path("SOUL.md").exists() && !house.path(".git/commondir").exists());
    assert_eq!(outside(&house, "git ls-files").stdout, "Agent.md\n");
}

#[test]
fn what_a_power_cut_leaves_behind_is_removed_by_the_next_start() {
    let Some(busy) = Busy::new() else { return };
    let house = cut_power(busy);
    house.kith(&["trust", "."]).succeeded();
    house.kith(&["ask", "hello", "--model", "demo"]).succeeded();
    assert!(!house.path("SOUL.md").exists() && !house.path(".git/commondir").exists());
}

/// Runs it where the kernel allows no further namespaces.
fn without_namespaces(house: &House, args: &[&str]) -> Option<Ran> {
    let limit = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let behind = ["unshare", "-Ur", "/bin/sh", "-c", limit, "sh"];
    let ran = house.behind(&behind, args).ok()?;
    if ran.stderr.contains("unshare") {
        not_run(&format!("namespaces cannot be limited here: {}", ran.shown()));
        return None;
    }
    Some(ran)
}

#[test]
fn without_namespaces_the_doctor_says_so_the_policy_asks_and_nothing_runs() {
    let house = House::new();
    let Some(doctor) = without_namespaces(&house, &["doctor"]) else { return };
    let told = "commands cannot be sandboxed: this system allows no namespaces";
    assert!(doctor.stdout.contains(told), "{}", doctor.shown());
    let judged = without_namespaces(&house, &["explain", "command", "touch ran"]).unwrap();
    let asks = "ask (without a sandbox): this machine offers no sandbox";
    assert!(judged.stdout.starts_with(asks), "{}", judged.shown());
    let ran = without_namespaces(&house, &["sandbox", "--", "touch", "ran"]).unwrap();
    assert_eq!(ran.code, 3, "{}", ran.shown());
    assert!(ran.stderr.contains("this system allows no namespaces"), "{}", ran.shown());
    assert!(!house.path("ran").exists());
}

#[test]
fn a_sandbox_is_found_also_where_nothing_can_be_made_in_the_temporary_folder() {
    let house = House::new();
    if !house.kith(&["explain", "command", "touch ran"]).stdout.contains("in the sandbox") {
        not_run("there is no sandbox");
        return;
    }
    let behind = ["env", "TMPDIR=/nowhere"];
    let judged = house.behind(&behind, &["explain", "command", "touch ran"]).unwrap();
    assert!(judged.stdout.contains("in the sandbox"), "{}", judged.shown());
}

#[test]
fn output_without_end_ends_with_its_reader() {
    let world = World::new();
    if !has_sandbox(&world) {
        return;
    }
    let mut yes = world.house.start(&["sandbox", "--", "/bin/sh", "-c", "echo $$; exec yes"]);
    yes.until("y");
    yes.hang_up();
}

#[test]
fn a_command_that_waits_for_input_finds_it_empty() {
    let world = World::new();
    if has_sandbox(&world) {
        assert_eq!(world.sandboxed("read line; test -z \"$line\" && exit 6").code, 6);
    }
}

#[test]
fn further_folders_of_skills_cannot_be_changed() {
    let world = World::new();
    if !has_sandbox(&world) {
        return;
    }
    world.house.write("kith.toml", "[skills]\nextra = [\"more\"]\n");
    world.house.write("more/greet/SKILL.md", "greet\n");
    world.house.kith(&["trust", "."]).succeeded();
    assert_ne!(world.sandboxed("echo x >> more/greet/SKILL.md").code, 0);
    assert_ne!(world.sandboxed("mv more old").code, 0);
    let text = fs::read_to_string(world.house.path("more/greet/SKILL.md")).unwrap();
    assert_eq!(text, "greet\n");
}

#[test]
fn the_users_home_is_refused_as_a_workspace() {
    let house = House::new();
    let home = house.path("..").canonicalize().unwrap().join("user");
    fs::write(home.join("Agent.md"), "x").unwrap();
    let ran = house.kith_in("../user", &["sandbox", "--", "true"]);
    assert_eq!(ran.code, 3, "{}", ran.shown());
    assert!(ran.stderr.contains("is your home folder"), "{}", ran.shown());
}
