//! What a `Cargo.toml` says about dependencies, read line by line.
//!
//! Not a TOML parser: xtask would need one more crate for it, and manifests here are written in one
//! form. A dependency in any of cargo's forms is still seen.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Normal,
    Dev,
    Build,
    /// Named in `[workspace.dependencies]`, for the members to inherit.
    Workspace,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency<'a> {
    pub(crate) line: usize,
    /// The package, also when it goes by another name here.
    pub(crate) package: &'a str,
    pub(crate) usage: Use,
}

pub(crate) fn package_name(manifest: &str) -> Option<&str> {
    let mut section = "";
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim();
        } else if section == "[package]"
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "name"
        {
            return Some(value.trim().trim_matches('"'));
        }
    }
    None
}

pub(crate) fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let mut found = Vec::new();
    let mut section = None;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            section = section_use(header);
            if section.is_none() {
                // `[dependencies.serde]` names the dependency in the header.
                if let Some((parent, name)) = header.rsplit_once('.')
                    && let Some(usage) = section_use(parent)
                {
                    let package = name.trim_matches(['"', '\'']);
                    found.push(Dependency { line: index + 1, package, usage });
                }
            }
        } else if let Some(usage) = section
            && let Some((key, value)) = line.split_once('=')
            && !line.starts_with('#')
        {
            let key = key.split('.').next().unwrap_or(key);
            let package = renamed(value).unwrap_or(key.trim().trim_matches('"'));
            found.push(Dependency { line: index + 1, package, usage });
        }
    }
    found
}

fn section_use(header: &str) -> Option<Use> {
    if header == "workspace.dependencies" {
        return Some(Use::Workspace);
    }
    // The last part counts: `[target.'cfg(unix)'.dependencies]` is a section of dependencies too.
    match header.rsplit('.').next()? {
        "dependencies" => Some(Use::Normal),
        "dev-dependencies" => Some(Use::Dev),
        "build-dependencies" => Some(Use::Build),
        _ => None,
    }
}

fn renamed(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("package")?;
    let rest = rest.trim_start().strip_prefix('=')?;
    rest.split('"').nth(1)
}

#[cfg(test)]
mod tests;
