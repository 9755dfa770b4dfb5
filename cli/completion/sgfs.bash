# Completion for bash: the program itself knows what may follow (cli/complete.c): that of PATH, since
# Tab must not start what another folder has under its name. A shell with bash-completion finds this
# file where `make install` puts it; others source it.
_sgfs() {
    local IFS=$'\n' word words=() found
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do # bash takes --flag=value apart
        if [[ $word == "=" || ${words[*]: -1} == *= ]]; then words[-1]+=$word
        else words+=("$word"); fi
    done
    found=$(command sgfs help --complete "${words[@]}" 2> /dev/null) || compopt -o default
    found=$(cut -f 1 <<< "$found")
    [[ ${words[-1]} == --*=* ]] && found=${found//${words[-1]%%=*}=/}
    COMPREPLY=($found)
}
complete -F _sgfs sgfs
