# Messages about wrong use, over all commands: one line, that names its object as it was typed, says
# what is wrong and, where there is something, what to do.

load helper

# What the mistakes are made with.
make_things() {
    make_archive
    tar -cf a.tar -C tree .
    sb convert -q a.tar a.zip
    sb convert -q a.tar a.bagz
    echo 'some text' >notes.txt
    echo '{"x":1}' >p.jsonl
    : >empty
    head -c 200 a.barecat >cut.barecat
    mkdir dir below
    ln -s a.barecat link
}

# Lines of "OBJECT|what was typed": OBJECT must be in the message.
mistakes() {
    cat <<'END'
nosuch|nosuch a.barecat
extract|extract a.barecat dir
-xf|-xf a.tar
nosuch|help nosuch
--nosuch|--nosuch
nosuch.barecat|ls nosuch.barecat
nosuch.barecat|cat nosuch.barecat x
nosuch.barecat|find nosuch.barecat
nosuch.barecat|du nosuch.barecat
nosuch.barecat|verify nosuch.barecat
nosuch.barecat|diff nosuch.barecat
nosuch.barecat|unpack nosuch.barecat
nosuch.barecat|rm nosuch.barecat x
nosuch|sync nosuch a.barecat
nosuch.barecat|mv nosuch.barecat x y
nosuch.barecat|defrag nosuch.barecat
nosuch.barecat|upgrade nosuch.barecat
nosuch.tar|protect nosuch.tar
nosuch.barecat|split --parts=2 -o out-{}.barecat nosuch.barecat
nosuch.barecat|merge -o out.barecat nosuch.barecat
nosuch.barecat|merge-symlink -o out.barecat nosuch.barecat
nosuch.barecat|convert nosuch.barecat out.tar
nosuch: |pack --append nosuch/a.barecat dir
nosuch: |pack nosuch/a.barecat dir
below/nosuch|rm below/nosuch x
./nosuch|mv ./nosuch x y
dir|cat dir
dir|verify dir
dir|rm dir x
dir|mv dir x y
dir|defrag dir
dir|upgrade dir
dir|protect --repair dir
dir|pack dir out.barecat
dir|pack --append dir notes.txt
dir|merge -o dir a.barecat
dir|merge-symlink -o dir a.barecat
notes.txt|ls notes.txt
notes.txt|cat notes.txt
notes.txt|unpack notes.txt
notes.txt|verify notes.txt
notes.txt|rm notes.txt x
notes.txt|mv notes.txt x y
notes.txt|defrag notes.txt
notes.txt|upgrade notes.txt
notes.txt|split --parts=2 -o out-{}.barecat notes.txt
notes.txt|diff notes.txt
notes.txt|pack notes.txt dir
notes.txt|merge-symlink -o out.barecat notes.txt
notes.txt|find notes.txt
notes.txt|du notes.txt
empty|ls empty
a.tar|rm a.tar x
a.tar|sync dir a.tar
a.barecat|sync a.barecat:nosuch out/
a.tar|mv a.tar x y
a.tar|defrag a.tar
a.tar|upgrade a.tar
a.tar|protect --check a.tar
a.tar|pack --append a.tar dir
a.zip|merge-symlink -o out.barecat a.zip
out.tar|pack out.tar dir
link|rm link x
link|pack --append link dir
cut.barecat|rm cut.barecat x
a.barecat|pack a.barecat dir
a.barecat|convert a.tar a.barecat
a.barecat|merge -o a.barecat a.tar
a.zip|convert a.tar a.zip
out|convert a.tar out
p.jsonl|convert p.jsonl out.bagz
dir|unpack a.barecat dir
nosuch.txt|mv a.barecat nosuch.txt y
no/such|unpack -C no/such/dir a.barecat --report=no/such/report
no/such|verify --report=no/such/report a.barecat
no/such|convert a.tar no/such/out.tar
no/such|cat -T no/such a.barecat
no/such|unpack --report=no/such/report -C out a.barecat
nosuch|pack -T nosuch out.barecat
--recursve|ls --recursve a.barecat
-Z|ls -Z a.barecat
-z|unpack -z a.barecat
--sort|ls --sort=szie a.barecat
--shard-size|pack --shard-size=many out.barecat dir
--threads|cat --threads=0 a.barecat x
--range|cat --range=x a.barecat a.txt
--part|pack --part=4/3 out.barecat dir
--existing|unpack --existing=perhaps a.barecat
--from|ls --from=rar a.barecat
--max-time|verify --max-time=soon a.barecat
b.barecat|defrag a.barecat b.barecat
nosuch.barecat|mount nosuch.barecat dir
dir|mount dir below
dir|umount dir
nosuch|umount nosuch
nosuch|sync nosuch a.barecat
new.tar|sync dir new.tar
a.barecat|sync a.barecat a.barecat
END
}

@test "a mistake brings one line with its object, no full stop, no absolute path, and status 2" {
    local object typed words wrong=
    make_things
    mistakes >list
    [ "$(wc -l <list)" -ge 60 ]
    for name in $(sb --list | cut -f1); do
        [ "$(grep -c "|$name " list)" -ge 2 ] || fail "$name: has no mistakes here"
    done
    while IFS='|' read -r object typed; do
        read -r -a words <<<"$typed"
        run --separate-stderr timeout 20 "$SHARDBOX" "${words[@]}" </dev/null
        refuse_crash "$typed"
        [[ $status -eq 2 && -z $output && ${#stderr_lines[@]} -eq 1 && $stderr == shardbox*": "*"$object"* &&
            $stderr != *. && $stderr != *"$PWD"* ]] || wrong+="$typed: $status: $output$stderr"$'\n'
    done <list
    [[ -z $wrong ]] || fail "$wrong"
    [[ $(sb ls a.barecat | wc -l) -gt 10 && ! -e out && ! -e out.tar && ! -e out.barecat ]]
    run_ok sb verify a.barecat
}

@test "a container typed where a name in the first was expected is told from a missing name" {
    mkdir tree
    echo x >tree/file
    sb pack a.barecat tree
    sb pack b.barecat tree
    sb convert a.barecat c.tar
    for name in b.barecat c.tar; do
        for command in verify ls find du cat "unpack -C out" rm; do
            read -ra words <<<"$command"
            run_fail 1 sb "${words[@]}" a.barecat $name
            stderr_has "in the archive; it is a container of its own: name one at a time"
        done
    done
    run_fail 1 sb cat a.barecat none.tar
    stderr_is "shardbox cat: none.tar: no such file in the archive"
}

@test "a pattern that matches nothing says how far '*' goes" {
    mkdir -p tree/sub
    echo x >tree/sub/file
    sb pack a.barecat tree
    for command in verify ls find cat "unpack -C out" rm; do
        read -ra words <<<"$command"
        run_fail 1 sb "${words[@]}" a.barecat 'tree/*.jpg'
        stderr_has "in the archive; '*' stays within a directory, '**/' means any below"
        run_fail 1 sb "${words[@]}" a.barecat 'tree/**/*.jpg'
        stderr_lacks "stays within"
    done
    run_ok sb find a.barecat 'tree/**/f*'
    output_is tree/sub/file
}

@test "ten messages of a kind are printed, then how many more there are; -v prints them all" {
    mkdir tree
    for i in {1..25}; do echo "$i" >"tree/f$i"; done
    sb pack a.barecat tree
    sb unpack -C out a.barecat
    run_fail 1 sb unpack -C out a.barecat
    [[ ${#stderr_lines[@]} == 12 && $(grep -c 'exists already' <<<"$stderr") == 10 &&
        ${stderr_lines[10]} == "shardbox unpack: 15 more of the kind 'exists'; -v shows them all" &&
        ${stderr_lines[11]} == *': unpacked in part, 25 exist already; see --existing=skip, replace and newer' ]]
    run_fail 1 sb unpack -v -C out a.barecat
    [[ $(grep -c 'exists already' <<<"$stderr") == 25 && $stderr != *' more of the kind '* ]]
    for command in find rm cat; do
        run_fail 1 sb $command -T <(seq 30) a.barecat
        [[ $(grep -c ': no such file' <<<"$stderr") == 10 && $stderr == *"20 more of the kind 'missing'"* ]]
    done
    # A report has them all.
    rm -r tree/f*
    run_fail 1 sb pack --report=r.jsonl b.barecat tree -T <(seq 30)
    [[ $(grep -c '"problem"' r.jsonl) == 30 && $(grep -c ': cannot be packed' <<<"$stderr") == 10 ]]
}

@test "a shard that is missing is one line of verify, and the number of its files" {
    mkdir tree
    for i in {1..25}; do echo "$i" >"tree/f$i"; done
    sb pack a.barecat tree
    rm a.barecat-shard-00000
    run_fail 1 sb verify a.barecat
    output_is "shard: $PWD/a.barecat-shard-00000: is not there"
    stderr_is "shardbox verify: 25 of the kind 'files of missing shards'; -v shows them
shardbox verify: a.barecat: 26 defects; copy the damaged shards again, or restore the files from another copy with --repair-from=COPY"
    run_fail 1 sb verify -v a.barecat
    [[ $(grep -c '^bounds: ' <<<"$output") == 25 ]]
    run_fail 1 sb verify --json a.barecat
    [[ $(grep -c '"bounds"' <<<"$output") == 25 ]]
    mkdir copy
    run_fail 1 sb verify --repair-from=copy a.barecat
    [[ $(grep -c ': not restored: ' <<<"$stderr") == 10 ]]
    stderr_has "15 more of the kind 'missing'"
}

@test "a URL, or a name on another machine, is refused with the pipe to type, whatever the command" {
    mkdir tree
    echo x >tree/file
    while IFS='|' read -r typed message; do
        eval "words=($typed)"
        run_fail 2 sb "${words[@]}"
        stderr_is "shardbox ${words[0]}: ${words[1]}: is not on a file system${message//_/|}"
    done <<'LINES'
ls https://h/x.tar|; use a pipe: curl -fsSL https://h/x.tar _ shardbox ... -
find 'https://h/x.zip?a=b&c=d'|; use a pipe: curl -fsSL 'https://h/x.zip?a=b&c=d' _ shardbox ... -
unpack s3://b/x.tar.gz|; use a pipe: aws s3 cp s3://b/x.tar.gz - _ shardbox ... -
ls gs://b/x.tar|; use a pipe: gsutil cat gs://b/x.tar _ shardbox ... -
cat u@h:'a b.tar' x|; use a pipe: ssh u@h "cat 'a b.tar'" _ shardbox ... -
du hf://a/b.tar|; use a pipe: ... _ shardbox ... -
verify https://h/x.barecat|, and an archive is several files, which no pipe carries; use a copy of all of them that is on a file system
pack u@h:x.barecat tree|, and an archive is several files, which no pipe carries; use a copy of all of them that is on a file system
rm s3://b/x.barecat y|, and an archive is several files, which no pipe carries; use a copy of all of them that is on a file system
LINES
    run_fail 2 sb convert tree s3://b/x.tar.gz
    stderr_is "shardbox convert: s3://b/x.tar.gz: is not on a file system; write to a pipe instead: shardbox ... --to=tar.gz - | aws s3 cp - s3://b/x.tar.gz"
    run_fail 2 sb convert tree u@h:x.zip
    stderr_has "shardbox ... --to=zip - | ssh u@h 'cat >x.zip'"
    [ "$(ls)" = tree ]
    # What is here is a file all the same.
    run_ok sb pack ./u@h:x.barecat tree
    run_ok sb ls u@h:x.barecat
    run_ok sb pack 12:00.barecat tree
}
