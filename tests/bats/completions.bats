# Completion in bash, zsh and fish: commands, options, their values, files, paths in an archive.

load helper
release_build # hundreds of commands, of which the words count
load cache

MAKE_ARCHIVE=$(realpath -- "${MAKE_ARCHIVE:-$PROJECT/build/release/tests/bench/make_archive}")

# Leaves the file `known`; its first fields are the names of the commands.
commands() {
    sb --list >known && [ -s known ] && cut -f1 known
}

# PATH with the program and a link to it, an archive with two shards, and files beside it.
prepare() {
    mkdir bin
    ln -s "$SHARDBOX" bin/shardbox
    ln -s "$SHARDBOX" bin/shardbox-cat
    PATH=$PWD/bin:$PATH
    mkdir -p tree/sub/dir 'tree/with space'
    echo 1 >tree/a.txt
    echo 2 >tree/sub/file
    echo 3 >"tree/sub/it's"
    echo 4 >'tree/with space/a b'
    touch tree/sub/dir/none
    sb pack --shard-size=4 arch.barecat -C tree .
    touch list.txt
}

# A tar, a zip and a gzipped tar of the tree; tables: a Syrah file, a cache, a bag and its keys.
prepare_containers() {
    prepare
    tar cf set.tar -C tree .
    gzip -k set.tar
    sb convert -q set.tar set.zip
    make_npy <<<'items/0/image.npy uint8 [1] 0
items/0/label.npy int8 [1] 0'
    for ((i = 1; i < 18; i++)); do
        cp -r items/0 "items/$i"
    done
    sb convert -q items set.syrah
    make_dicts cache
    mkdir values keys
    printf one >values/1 && printf two >values/2
    printf first >keys/1 && printf 'second one' >keys/2
    sb convert -q values set.bag
    sb convert -q keys keys.bag
}

need() {
    command -v "$1" >/dev/null || skip "$1 is not installed"
}

# The long options that the help of a command shows.
options_of() {
    sb "$1" --help-all | grep -oE '^  (-., |    )--[a-z0-9-]+' | grep -oE -- '--.*' | sort
}

# in_bash WORD...: what bash would offer for the last of the words, a line each.
in_bash() {
    bash -c '
        source "$1/completions/shardbox.bash"
        shift
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        _shardbox
        printf "%s\n" "${COMPREPLY[@]}"' - "$PROJECT" "$@" | sort
}

in_fish() {
    fish --no-config -c 'source $argv[1]; complete -C$argv[2]' -- \
        "$PROJECT/completions/shardbox.fish" "$1" | cut -f1 | sort
}

# An interactive zsh completes the line; what it would offer is caught on its way.
in_zsh() {
    cat >complete.zsh <<'END'
zmodload zsh/zpty zsh/zselect
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=($PROJECT/completions \$fpath); autoload -U compinit; compinit -u -D"
zpty -w shell 'compadd() {
    local -a offered
    if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
        builtin compadd -A offered "$@"
        ((! $#offered)) || print -rl -- $IPREFIX$^offered >>offers
    fi
    builtin compadd "$@"
}'
zpty -w shell 'offer() { zle list-choices; BUFFER=; print END >>offers }; zle -N offer'
zpty -w shell "bindkey '^T' offer; cd ${(q)PWD}"
: >offers
zpty -n -w shell "$1"$'\C-T'
repeat 400; do
    grep -qx END offers && break
    zselect -t 5
done
zpty -d shell
END
    PROJECT=$PROJECT zsh -f complete.zsh "$1"
    grep -qx END offers || return
    grep -vx END offers | sort -u
}

@test "the program has the scripts, and they have the links of all commands" {
    local links
    sb --completions=bash | diff - "$PROJECT/completions/shardbox.bash"
    sb --completions=zsh | diff - "$PROJECT/completions/_shardbox"
    sb --completions=fish | diff - "$PROJECT/completions/shardbox.fish"
    links=$(sb --list | sed 's/\t.*//; s/^/shardbox-/')
    [[ $links == *shardbox-pack* ]]
    [[ $(sb --completions=bash | sed -n 's/^complete -F _shardbox shardbox //p' | tr ' ' '\n') == "$links" ]]
    [[ $(sb --completions=zsh | sed -n 's/^#compdef shardbox //p' | tr ' ' '\n') == "$links" ]]
    [[ $(sb --completions=fish | sed -n "s/^complete -c \(shardbox-.*\) -w 'shardbox .*'/\1/p") == "$links" ]]
}

@test "bash: commands" {
    prepare
    in_bash shardbox '' | diff - <({ sb --list | cut -f1 && printf '%s\n' help --help --list --version; } | sort)
    [ "$(in_bash shardbox ver)" = verify ]
    [ "$(in_bash shardbox help ver)" = verify ]
}

@test "bash: every option of every command" {
    prepare
    names=$(commands)
    for name in $names; do
        in_bash shardbox "$name" -- | tr -d = | sort | diff - <(options_of "$name")
    done
    [ "$(in_bash shardbox-cat --or)" = --order= ]
}

@test "bash: words of an expression" {
    prepare
    [ "$(in_bash shardbox find arch.barecat -prin)" = $'-print\n-print0\n-printf' ]
    [ "$(in_bash shardbox cat arch.barecat -prin)" = "" ]
    [ "$(in_bash shardbox find arch.barecat -name 'x*' -max)" = -maxdepth ]
}

@test "bash: values of options" {
    prepare
    [ "$(in_bash shardbox cat --order i)" = input ]
    [ "$(in_bash shardbox cat --order = i)" = input ]
    [ "$(in_bash shardbox cat --order =)" = $'address\ninput' ]
    [ "$(in_bash shardbox ls --color = n)" = never ]
    [[ $(in_bash shardbox ls --color '') == *arch.barecat* ]]
    [ "$(in_bash shardbox cat -T li)" = list.txt ]
    [ "$(in_bash shardbox cat -qT li)" = list.txt ]
    [ "$(in_bash shardbox cat --files-from = li)" = list.txt ]
    [ "$(in_bash shardbox pack -C '')" = $'bin\ntree' ]
    [ "$(in_bash shardbox cat -j '')" = "" ]
}

@test "bash: archives, but not their shards" {
    prepare
    [ "$(in_bash shardbox cat ar)" = arch.barecat ]
    [ "$(in_bash shardbox-cat ar)" = arch.barecat ]
    [ "$(in_bash shardbox pack ar)" = arch.barecat ]
    [ "$(in_bash shardbox pack new.barecat l)" = list.txt ]
}

@test "bash: paths in an archive" {
    prepare
    [ "$(in_bash shardbox cat arch.barecat '')" = $'a.txt\nsub/\nwith space/' ]
    [ "$(in_bash shardbox cat arch.barecat s)" = sub/ ]
    [ "$(in_bash shardbox cat arch.barecat sub/)" = $'sub/dir/\nsub/file\nsub/it\'s' ]
    [ "$(in_bash shardbox cat arch.barecat ./sub/f)" = ./sub/file ]
    [ "$(in_bash shardbox cat arch.barecat a.txt /sub/f)" = /sub/file ]
    [ "$(in_bash shardbox cat -j 2 --order address arch.barecat sub/d)" = sub/dir/ ]
    [ "$(in_bash shardbox cat -Tlist.txt arch.barecat s)" = sub/ ]
    [ "$(in_bash shardbox cat -- arch.barecat s)" = sub/ ]
    [ "$(in_bash "$PWD/bin/shardbox-cat" arch.barecat s)" = sub/ ]
    [ "$(in_bash shardbox cat no-such.barecat s)" = "" ]
}

@test "bash: quoted words" {
    prepare
    [ "$(in_bash shardbox cat arch.barecat 'with\ ')" = "with space/" ]
    [ "$(in_bash shardbox cat arch.barecat '"with sp')" = "with space/" ]
    [ "$(in_bash shardbox cat '"arch.barecat"' "'with sp")" = "with space/" ]
    [ "$(in_bash shardbox cat arch.barecat "'with space/")" = "with space/a b" ]
    mv arch.barecat 'an archive'
    mv arch.barecat-shard-00000 'an archive-shard-00000'
    [ "$(in_bash shardbox cat 'an\ archive' s)" = sub/ ]
    [ "$(in_bash shardbox cat an)" = "an archive" ]
}

@test "bash: a word is taken for its characters and never run" {
    prepare
    in_bash shardbox cat '$(touch ran)' '`touch ran`' >/dev/null
    in_bash shardbox cat arch.barecat '"$(touch ran)' >/dev/null
    [ ! -e ran ]
}

# typed_in_bash TEXT: types it into an interactive bash, then Enter; prints what the terminal showed.
typed_in_bash() {
    python3 - "$1" "$PROJECT/completions/shardbox.bash" <<'END'
import os, pty, select, sys

def type_and_wait(text, end):
    os.write(terminal, text)
    seen = b""
    while end not in seen and select.select([terminal], [], [], 20)[0]:
        seen += os.read(terminal, 65536)
    return seen

shell, terminal = pty.fork()
if shell == 0:
    os.environ.update(TERM="dumb", PS1="", HOME=os.getcwd())
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
type_and_wait(b"source '%s'; PS1=; echo re''ady\n" % os.fsencode(sys.argv[2]), b"ready\r")
sys.stdout.buffer.write(type_and_wait(os.fsencode(sys.argv[1]) + b"\necho do''ne\n", b"done\r"))
os.close(terminal)
END
}

@test "bash: a name in an archive is quoted, and what is in it never runs" {
    mkdir tree
    for name in 'k`touch${IFS}ran`' 'b$(touch ran)' 'c;touch ran;' "d'e" 'f"$(touch ran)"g' $'h\ni' '~' 'j\k'; do
        echo "content of $name" >"tree/$name"
    done
    prepare
    sb pack -f arch.barecat -C tree .
    for typed in k b c d f h j \"k \"b \"f \'k \'b \'d; do
        [[ $(typed_in_bash "shardbox cat arch.barecat $typed"$'\t') == *"content of ${typed#[\"\']}"* ]]
        [[ ! -e ran ]]
    done
}

@test "bash: members of tars and zips, but not of what is compressed as a whole" {
    prepare_containers
    for set in set.tar set.zip; do
        [ "$(in_bash shardbox cat $set '')" = $'a.txt\nsub/\nwith space/' ]
        [ "$(in_bash shardbox unpack $set sub/)" = $'sub/dir/\nsub/file\nsub/it\'s' ]
        [ "$(in_bash shardbox find $set ./sub/f)" = ./sub/file ]
        [ "$(in_bash shardbox du $set 'with\ ')" = 'with space/' ]
    done
    [ "$(in_bash shardbox cat set.tar.gz '')" = "" ]
    mkfifo pipe
    [ "$(in_bash shardbox cat pipe '')" = "" ]
    [ "$(in_bash shardbox cat - '')" = "" ]
    [ "$(in_bash shardbox find tree '')" = "" ]
    printf x | dd of=set.tar bs=1 seek=512 conv=notrunc status=none
    [ "$(in_bash shardbox cat set.tar nothing)" = "" ]
}

@test "bash: rows and columns of tables" {
    prepare_containers
    [ "$(in_bash shardbox cat set.syrah 1 | head -n 3)" = $'1/\n10/\n11/' ]
    [ "$(in_bash shardbox cat set.syrah '' | wc -l)" = 18 ]
    [ "$(in_bash shardbox cat set.syrah 17/)" = $'17/image\n17/label' ]
    [ "$(in_bash shardbox ls set.syrah 17/l)" = 17/label ]
    [ "$(in_bash shardbox ls set.syrah 18/)" = "" ]
    [ "$(in_bash shardbox ls set.syrah 99999999999999999999/)" = "" ]
    [ "$(in_bash shardbox find set.syrah 00000017/)" = $'00000017/image.npy\n00000017/label.npy' ]
    [ "$(in_bash shardbox du set.syrah --array '')" = $'image\nlabel' ]
    [ "$(in_bash shardbox cat set.syrah --array = i)" = image ]
    [ "$(in_bash shardbox convert set.syrah --array = i)" = image ]
    [ "$(in_bash shardbox cat cache '')" = $'k/2\nk:0\nk:1' ]
    [ "$(in_bash shardbox cat cache k : 0)" = 0 ]
    [ "$(in_bash shardbox cat cache k/2/e)" = k/2/emb ]
    [ "$(in_bash shardbox ls cache --array = m)" = $'mask\nmeta' ]
    [ "$(in_bash shardbox cat --keys = keys.bag set.bag '')" = $'first\nsecond one' ]
    [ "$(in_bash shardbox cat --keys keys.bag set.bag se)" = 'second one' ]
    [ "$(in_bash shardbox cat set.bag '')" = "" ]
    [ "$(in_bash shardbox cat arch.barecat --array '')" = "" ]
}

@test "bash: the container may follow the option, and options say how it is read" {
    prepare_containers
    cat >line.bash <<'END'
source "$1/completions/shardbox.bash"
COMP_WORDS=(shardbox cat --from = syrah --array '' renamed) COMP_CWORD=6
_shardbox
printf '%s\n' "${COMPREPLY[@]}"
END
    mv set.syrah renamed
    [ "$(bash line.bash "$PROJECT")" = $'image\nlabel' ]
    mv set.zip zipped.tar
    [ "$(in_bash shardbox cat --from zip zipped.tar s)" = sub/ ]
    [ "$(in_bash shardbox cat --from = tar zipped.tar s)" = "" ]
}

@test "bash: samples, by their numbers and suffixes" {
    prepare
    mkdir set
    touch set/1.jpg set/1.json set/2.jpg set/2.json
    sb pack set.barecat -C set .
    [ "$(in_bash shardbox ls --samples set.barecat 1/)" = $'1/jpg\n1/json' ]
    [ "$(in_bash shardbox cat --samples set.barecat --array = js)" = json ]
}

@test "bash: kinds of containers, and other words that are a choice" {
    prepare
    [ "$(in_bash shardbox cat --from = ta)" = tar ]
    [ "$(in_bash shardbox ls --from '')" = "$(printf '%s\n' archive bag bagz cache cpio syrah tar zip)" ]
    [ "$(in_bash shardbox convert --to = tar.z)" = tar.zst ]
    [ "$(in_bash shardbox ls --sort = '')" = $'address\nname\nsize\ntime' ]
}

@test "of very many names the first thousand are offered, and those that fit what was typed" {
    prepare
    "$MAKE_ARCHIVE" -d 0 -p 100000 flat.barecat 100000 >/dev/null
    [ "$(in_bash shardbox cat flat.barecat '' | wc -l)" = 1000 ]
    name=$("$MAKE_ARCHIVE" -d 0 -p 100000 --list 77777)
    [ "$(in_bash shardbox cat flat.barecat "${name:0:8}")" = "$name" ]
    [ "$(in_bash shardbox cat flat.barecat "$name")" = "$name" ]
}

@test "fish: commands, options and values" {
    need fish
    prepare
    in_fish 'shardbox ' | diff - <({ sb --list | cut -f1 && echo help; } | sort)
    names=$(commands)
    for name in $names; do
        # An option whose value may be left out is offered both ways.
        in_fish "shardbox $name --" | tr -d = | uniq | diff - <(options_of "$name")
    done
    [ "$(in_fish 'shardbox help ver')" = verify ]
    [ "$(in_fish 'shardbox cat --order ')" = $'address\ninput' ]
    [ "$(in_fish 'shardbox cat -T li')" = list.txt ]
    [ "$(in_fish 'shardbox pack -C ')" = $'bin/\ntree/' ]
    [ "$(in_fish 'shardbox-cat --or')" = --order ]
}

@test "fish: archives, and paths in them" {
    need fish
    prepare
    [ "$(in_fish 'shardbox cat ar')" = arch.barecat ]
    [ "$(in_fish 'shardbox cat arch.barecat ')" = $'a.txt\nsub/\nwith space/' ]
    [ "$(in_fish 'shardbox cat arch.barecat sub/')" = $'sub/dir/\nsub/file\nsub/it\'s' ]
    [ "$(in_fish 'shardbox cat arch.barecat with\ ')" = "with space/" ]
    [ "$(in_fish 'shardbox cat -j 2 -T list.txt arch.barecat sub/d')" = sub/dir/ ]
    [ "$(in_fish 'shardbox-cat arch.barecat s')" = sub/ ]
    [ "$(in_fish 'shardbox pack arch.barecat l')" = list.txt ]
    [ "$(in_fish 'shardbox upgrade arch.barecat ')" = "" ]
}

@test "fish: rows and columns of tables, members of tars" {
    need fish
    prepare_containers
    [ "$(in_fish 'shardbox cat set.syrah 17/')" = $'17/image\n17/label' ]
    [ "$(in_fish 'shardbox cat set.syrah --array=')" = $'--array=image\n--array=label' ]
    [ "$(in_fish 'shardbox cat set.syrah --array l')" = label ]
    [ "$(in_fish 'shardbox cat cache k:')" = $'k:0\nk:1' ]
    [ "$(in_fish 'shardbox cat --keys keys.bag set.bag ')" = $'first\nsecond one' ]
    [ "$(in_fish 'shardbox cat --keys=keys.bag set.bag f')" = first ]
    [ "$(in_fish 'shardbox cat set.tar sub/f')" = sub/file ]
    [ "$(in_fish 'shardbox cat --from ta')" = tar ]
}

@test "zsh: commands, options and values" {
    need zsh
    prepare
    in_zsh 'shardbox ' | diff - <({ sb --list | cut -f1 && echo help; } | sort)
    [ "$(in_zsh 'shardbox help ver')" = verify ]
    in_zsh 'shardbox pack --' | diff - <(options_of pack)
    [ "$(in_zsh 'shardbox cat --order=')" = $'--order=address\n--order=input' ]
    [ "$(in_zsh 'shardbox cat -T li')" = list.txt ]
    [ "$(in_zsh 'shardbox pack -C ')" = $'bin\ntree' ]
}

@test "zsh: archives, and paths in them" {
    need zsh
    prepare
    [ "$(in_zsh 'shardbox cat ar')" = arch.barecat ]
    [ "$(in_zsh 'shardbox cat arch.barecat ')" = $'a.txt\nsub\nwith\\ space' ]
    [ "$(in_zsh 'shardbox cat arch.barecat sub/')" = $'sub/dir\nsub/file\nsub/it\\\'s' ]
    [ "$(in_zsh 'shardbox cat -j 2 arch.barecat with\ space/')" = 'with\ space/a\ b' ]
    [ "$(in_zsh 'shardbox-cat arch.barecat s' | tail -1)" = sub ]
}

@test "zsh: rows and columns of tables, members of tars" {
    need zsh
    prepare_containers
    [ "$(in_zsh 'shardbox cat set.syrah 17/')" = $'17/image\n17/label' ]
    [ "$(in_zsh 'shardbox cat set.syrah --array=')" = $'--array=image\n--array=label' ]
    [ "$(in_zsh 'shardbox cat cache k:')" = $'k:0\nk:1' ]
    [ "$(in_zsh 'shardbox cat --keys=keys.bag set.bag ')" = $'first\nsecond\\ one' ]
    [ "$(in_zsh 'shardbox cat set.tar sub/f')" = sub/file ]
    [ "$(in_zsh 'shardbox cat --from=ta')" = --from=tar ]
}
