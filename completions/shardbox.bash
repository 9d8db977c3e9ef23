# bash completion for shardbox, printed by: shardbox --completions=bash
# shellcheck shell=bash

# Sets REPLY to a word as the shell will pass it on.
_shardbox_unquote() {
    case $1 in
    \'*) REPLY=${1:1} REPLY=${REPLY%\'} ;;
    \"*) REPLY=${1:1} REPLY=${REPLY%\"} ;;
    *)
        # shellcheck disable=SC2162 # the backslashes are what is to go
        IFS= read REPLY <<<"$1"
        ;;
    esac
    case $REPLY in
    \~/*) REPLY=$HOME/${REPLY:2} ;;
    esac
}

# Adds the given words to args, unquoted, with those joined that bash split at '=' and ':'.
_shardbox_add_args() {
    local before=$1 word words=("$1")
    for word in "${@:2}"; do
        case $before/$word in
        [=:]/* | */[=:]) words[${#words[@]} - 1]+=$word ;;
        *) words+=("$word") ;;
        esac
        before=$word
    done
    for word in "${words[@]}"; do
        _shardbox_unquote "$word"
        args+=("$REPLY")
    done
}

# One candidate for the word that begins with lead and typed. Bash replaces all but `strip` of it.
_shardbox_add() {
    local word=$lead$1
    [[ $1 == "$typed"* ]] && COMPREPLY+=("${word:strip}")
}

# Quotes the candidates as the word that is typed is. Bash would leave a $ or ` of a name as
# it is if no file has that name, and run what it says. A bash that cannot leave the quoting
# to us gets no such names.
_shardbox_quote() {
    local i word
    if ! compopt -o noquote 2>/dev/null && ((BASH_VERSINFO[0] >= 4)); then
        for i in "${!COMPREPLY[@]}"; do
            [[ ${COMPREPLY[i]} != *[\$\`]* ]] || unset "COMPREPLY[$i]"
        done
        return
    fi
    for i in "${!COMPREPLY[@]}"; do
        word=${COMPREPLY[i]}
        case ${COMP_WORDS[COMP_CWORD]} in
        \'*) word=${word//\'/\'\\\'\'} ;;
        \"*)
            word=${word//\\/\\\\}
            word=${word//\"/\\\"}
            word=${word//\$/\\\$}
            word=${word//\`/\\\`}
            ;;
        *) printf -v word %q "$word" ;;
        esac
        COMPREPLY[i]=$word
    done
}

_shardbox_add_files() {
    local found
    while IFS= read -r found; do
        [[ $found == *-shard-[0-9][0-9][0-9][0-9][0-9] ]] || _shardbox_add "$found"
    done < <(compgen "$1" -- "$typed")
    compopt -o filenames 2>/dev/null
    _shardbox_quote
}

_shardbox() {
    local program typed REPLY kind='' lead='' found strip at args=()
    COMPREPLY=()
    _shardbox_add_args "${COMP_WORDS[@]:1:COMP_CWORD}"
    at=$((${#args[@]} - 1))
    typed=${args[at]}
    _shardbox_unquote "${COMP_WORDS[COMP_CWORD]}"
    case $REPLY in
    [=:]) strip=${#typed} ;;
    *) strip=$((${#typed} - ${#REPLY})) ;;
    esac
    _shardbox_add_args "${COMP_WORDS[@]:COMP_CWORD + 1}"
    _shardbox_unquote "${COMP_WORDS[0]}"
    program=$REPLY
    case $program in
    shardbox-* | */shardbox-*)
        args=("${program##*shardbox-}" "${args[@]}")
        program=${program%"-${args[0]}"}
        ((++at))
        ;;
    esac

    {
        IFS= read -r -d '' kind
        IFS= read -r -d '' lead
        typed=${typed#"$lead"}
        while IFS= read -r -d '' found; do
            [[ $kind == names ]] || found=${found%%$'\t'*}
            _shardbox_add "$found"
        done
    } < <("$program" --complete "$at" "${args[@]}" 2>/dev/null)
    case $kind in
    file) _shardbox_add_files -f ;;
    directory) _shardbox_add_files -d ;;
    names)
        compopt -o filenames 2>/dev/null
        [[ ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
        _shardbox_quote
        ;;
    words) [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null ;;
    esac
}

complete -F _shardbox shardbox shardbox-pack shardbox-unpack shardbox-convert shardbox-sync shardbox-diff shardbox-cat shardbox-ls shardbox-find shardbox-du shardbox-mount shardbox-umount shardbox-verify shardbox-rm shardbox-mv shardbox-defrag shardbox-split shardbox-merge shardbox-merge-symlink shardbox-upgrade shardbox-protect
