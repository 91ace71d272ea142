# Completion of kith for bash. Made by `kith completions bash`.
_kith() {
    local IFS=$'\n' line
    COMPREPLY=()
    while IFS= read -r line; do
        # bash takes `--color=` for a word of its own and completes only what follows.
        line=${line%%$'\t'*}
        [[ $COMP_WORDBREAKS == *=* ]] && line=${line#--*=}
        COMPREPLY+=("$line")
    done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _kith kith
