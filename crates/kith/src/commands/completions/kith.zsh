#compdef kith
# Completion of kith for zsh. Made by `kith completions zsh`.
_kith() {
    local -a candidates
    local line word about
    while IFS= read -r line; do
        word=${line%%$'\t'*}
        about=${line#*$'\t'}
        candidates+=("${word//:/\\:}:$about")
    done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#candidates} )); then
        _describe -V kith candidates
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_kith" ]; then
    _kith "$@"
else
    compdef _kith kith
fi
