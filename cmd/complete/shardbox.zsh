# zsh completion, printed by: shardbox --completions=zsh

# Names in a container: what is up to the last slash of the word is shown but once.
_shardbox_names() {
    local typed=${(Q)PREFIX} directory= found
    local -a open others

    [[ $typed == */* ]] && directory=${typed%/*}/
    for found; do
        found=${found[$#directory + 1,-1]}
        case $found in
        (*/) open+=(${found%/}) ;;
        (?*) others+=($found) ;;
        esac
    done
    compset -P '*/'
    compadd -q -S / -a open
    compadd -a others
}

# Words, each with what it means after a tab, if that is known; an option that ends in '=' needs a
# value.
_shardbox_words() {
    local found word
    local -a plain options valued

    for found; do
        word=${found%%$'\t'*}
        found=${found#"$word"}
        found=${${word%=}//:/\\:}${found/$'\t'/:}
        case $word in
        (-*=) valued+=("$found") ;;
        (-*) options+=("$found") ;;
        (*) plain+=("$found") ;;
        esac
    done
    (($#plain == 0)) || _describe word plain
    (($#options == 0)) || _describe -o option options
    (($#valued == 0)) || _describe -o option valued -q -S =
}

_shardbox() {
    local program=${${(Q)words[1]}/#\~\//$HOME/} at=$((CURRENT - 2))
    local -a args answer

    args=("${(@Q)words[2,CURRENT - 1]}" "${(Q)PREFIX}" "${(@Q)words[CURRENT + 1,-1]}")
    args=("${(@)args/#\~\//$HOME/}")
    if [[ $service == shardbox-* ]]; then
        args=("${service#shardbox-}" "$args[@]")
        program=${program%-$args[1]}
        ((++at))
    fi
    answer=("${(@0)"$($program --complete $at "$args[@]" 2>/dev/null)"}")
    [[ -z $answer[2] ]] || compset -P "${(b)answer[2]}"
    case $answer[1] in
    (file) _files -F '*-shard-[0-9][0-9][0-9][0-9][0-9]' ;;
    (directory) _files -/ ;;
    (names) _shardbox_names "${(@)answer[3,-2]}" ;;
    (words) _shardbox_words "${(@)answer[3,-2]}" ;;
    esac
}

_shardbox "$@"
