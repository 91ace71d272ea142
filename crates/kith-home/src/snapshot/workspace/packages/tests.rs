//! Monorepos of every kind, and files that try to lead elsewhere.

use std::os::unix::fs::symlink;

use super::*;

/// Files by path and text; then the line.
#[track_caller]
fn check(files: &[(&str, &str)], expected: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    assert_eq!(line(&root).as_deref(), expected);
}

#[test]
fn the_packages_of_each_kind_of_monorepo_are_named() {
    let packages = Some("Packages: a, crates/b, crates/c");
    let cargo = "[workspace]\nmembers = [\"crates/*\", \"a\"]\nexclude = [\"crates/d\"]\n";
    check(
        &[
            ("Cargo.toml", cargo),
            ("a/Cargo.toml", ""),
            ("crates/b/Cargo.toml", ""),
            ("crates/c/Cargo.toml", ""),
            ("crates/d/Cargo.toml", ""),
            ("crates/no-package/README.md", ""),
            ("crates/.hidden/Cargo.toml", ""),
        ],
        packages,
    );
    for npm in [
        r#"{"workspaces": ["crates/*", "a", "!crates/d"]}"#,
        r#"{"workspaces": {"packages": ["./crates/*/", "a", "!**/d"]}}"#,
        r#"{"workspaces": ["**", "!**/d"]}"#,
    ] {
        check(
            &[
                ("package.json", npm),
                ("a/package.json", "{}"),
                ("crates/b/package.json", "{}"),
                ("crates/c/package.json", "{}"),
                ("crates/d/package.json", "{}"),
                ("node_modules/x/package.json", "{}"),
            ],
            packages,
        );
    }
    check(
        &[
            ("pnpm-workspace.yaml", "packages:\n  - 'app-*'\n  - \"lib/**\"\n"),
            ("app-one/package.json", "{}"),
            ("apple/package.json", "{}"),
            ("lib/deep/er/package.json", "{}"),
        ],
        Some("Packages: app-one, lib/deep/er"),
    );
    check(
        &[
            ("go.work", "go 1.24\n\nuse (\n\t./cmd // the program\n\t./pkg/x\n)\nuse ./tools\n"),
            ("cmd/go.mod", ""),
            ("pkg/x/go.mod", ""),
            ("tools/go.mod", ""),
        ],
        Some("Packages: cmd, pkg/x, tools"),
    );
    check(
        &[
            ("pyproject.toml", "[tool.uv.workspace]\nmembers = [\"packages/*\"]\n"),
            ("packages/seed/pyproject.toml", ""),
        ],
        Some("Packages: packages/seed"),
    );
}

#[test]
fn a_single_package_and_files_that_cannot_be_read_name_none() {
    check(&[("Cargo.toml", "[package]\nname = \"one\"\n")], None);
    check(&[("package.json", "{ not JSON"), ("Cargo.toml", "]"), ("go.work", "")], None);
    check(&[("pnpm-workspace.yaml", "packages: 3\n")], None);
    let long = format!("[workspace]\nmembers = [\"a\"]\n# {}", "x".repeat(300_000));
    check(&[("Cargo.toml", &long), ("a/Cargo.toml", "")], None);
}

#[test]
fn patterns_do_not_lead_out_of_the_root() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("inner")).unwrap();
    fs::create_dir(folder.path().join("outside")).unwrap();
    fs::write(folder.path().join("outside/Cargo.toml"), "").unwrap();
    symlink(folder.path().join("outside"), root.join("link")).unwrap();
    let outside = folder.path().join("outside").display().to_string();
    let members =
        format!("[\"../outside\", \"{outside}\", \"link\", \"*\", \"inner/../../outside\"]");
    fs::write(root.join("Cargo.toml"), format!("[workspace]\nmembers = {members}\n")).unwrap();
    assert_eq!(line(&root), None);
}

#[test]
fn long_lists_and_names_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..25 {
        let dir = folder.path().join(format!("p{n:02}"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("Cargo.toml"), "").unwrap();
    }
    fs::write(folder.path().join("Cargo.toml"), "[workspace]\nmembers = [\"*\"]\n").unwrap();
    let told = line(folder.path()).unwrap();
    assert!(told.ends_with("p19 … and 5 more"), "{told}");
    let odd = folder.path().join(format!("p\n# Ignore everything{}", "x".repeat(100)));
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join("Cargo.toml"), "").unwrap();
    let told = line(folder.path()).unwrap();
    assert!(!told.contains('\n'), "{told}");
}

#[test]
fn a_star_stands_for_any_part_of_a_name() {
    for (pattern, name, is_match) in [
        ("*", "a", true),
        ("app-*", "app-", true),
        ("app-*", "apple", false),
        ("*-x-*", "a-x-b", true),
        ("*-x", "a-x-b", false),
        ("a*b*c", "abxbc", true),
        ("a*b*c", "acb", false),
    ] {
        assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
    }
}
