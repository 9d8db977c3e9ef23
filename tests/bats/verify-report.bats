#!/usr/bin/env bats
# shardbox verify --report and --prom: what a run from cron says

load helper

flip() {
    flip_byte a.barecat-shard-00000 "$(sql a.barecat "SELECT offset FROM files WHERE path = '$1'")"
}

# report FILTER: what jq makes of r.jsonl, one line for each line
report() {
    jq -cr "$1" r.jsonl
}

# metric NAME[LABELS]: its value in m.prom
metric() {
    local name=${1%%,*} more=${1#"${1%%,*}"}
    grep -F "shardbox_verify_$name{archive=\"$PWD/${archive:-a.barecat}\"$more} " m.prom | cut -d' ' -f2
}

metric_is() {
    [[ $(metric "$1") == "$2" ]] || fail "$1 is '$(metric "$1")', not '$2': $(cat m.prom)"
}

# m.prom by the rules of the exposition format: each metric has HELP and TYPE before its samples,
# which stand together; names, labels and values are well formed; nothing stands twice.
metrics_are_well_formed() {
    awk '
        function bad(why) { print FILENAME ": " why ": " $0; failed = 1 }
        /^# HELP [a-z_]+ ./ { name = $3; if (name in seen) bad("twice"); seen[name] = 1; next }
        /^# TYPE [a-z_]+ gauge$/ { if ($3 != name) bad("TYPE of another"); typed = name; next }
        {
            if (!match($0, /^[a-z_]+[{]([a-z]+="([^"\\]|\\["\\n])*",?)+[}] -?[0-9]+([.][0-9]+)?$/)) bad("form")
            sample = substr($0, 1, index($0, "{") - 1)
            if (sample != typed || sample != name) bad("without HELP and TYPE")
            series = substr($0, 1, match($0, /[}] [^}]*$/))
            if (series in seen) bad("twice")
            seen[series] = 1
        }
        END { exit failed }' m.prom
    [[ $(tail -c 1 m.prom) == '' ]] || fail 'no newline at the end'
}

# Nothing temporary is left beside the report or the metrics.
nothing_else_is_here() {
    local found
    found=$(find . -name '.*.shardbox-out')
    [[ -z $found ]] || fail "left behind: $found"
}

@test "a sound archive: a report of two lines, and nothing is said" {
    make_archive
    run_ok sb verify --report=r.jsonl --threads=2 a.barecat
    output_is ''
    stderr_is ''
    (($(wc -l <r.jsonl) == 2)) || fail "$(cat r.jsonl)"
    [[ $(report 'select(.kind == "start") | [.archive, .options, (.time > 1600000000), .version != ""]') == \
        '["a.barecat",["--report=r.jsonl","--threads=2"],true,true]' ]] || fail "$(cat r.jsonl)"
    [[ $(report 'select(.kind == "summary") | [.container, .status, .defects, .errors, .problems, .files,
        .dirs, .files_read, .unchecked, .out_of_time]') == \
        '["archive",0,0,{},0,21,28,21,0,false]' ]] || fail "$(cat r.jsonl)"
    [[ $(report 'select(.kind == "summary") | .seconds >= 0 and .time > 1600000000 and .bytes == .bytes_read') == true ]]
    nothing_else_is_here
}

@test "defects are in the report as --json has them, and one line on standard error" {
    make_archive
    flip sub/file
    flip one
    run_fail 1 sb verify --json a.barecat
    cp /dev/null j.jsonl
    printf '%s\n' "$output" >j.jsonl
    run_fail 1 sb verify --report=r.jsonl a.barecat
    output_is ''
    stderr_is "shardbox verify: a.barecat: 2 defects, named in r.jsonl; copy the damaged shards again, or restore the files from another copy with --repair-from=COPY"
    sed '1d;$d' r.jsonl | cmp - j.jsonl
    [[ $(report 'select(.kind == "summary") | [.status, .defects, .errors]') == '[1,2,{"checksum":2}]' ]]
}

@test "what was restored is said beside the report: the disk that spoiled it is another matter" {
    make_archive
    flip sub/file
    flip one
    rm tree/one
    run_fail 1 sb verify --report=r.jsonl --repair-from=tree a.barecat
    stderr_is 'shardbox verify: a.barecat: 1 defect remains, named in r.jsonl; copy the damaged shards again, or restore the files from another copy with --repair-from=COPY'
    flip sub/file
    run_ok sb verify --report=r.jsonl --repair-from=tree a.barecat sub
    stderr_is 'shardbox verify: a.barecat: 1 damaged file (10) restored from tree'
    [[ $(report 'select(.kind == "warning") | .what') == restored ]]
    flip sub/file
    run_ok sb verify --quiet --report=r.jsonl --repair-from=tree a.barecat sub
    stderr_is ''
}

@test "that there is never time to read anything is said beside the report" {
    need_slow
    make_archive
    # The calls that look for the shard, before it is read, take longer than there is time for.
    run_ok env LD_PRELOAD="$SLOW_SHIM" SLOW_ROOT="$PWD/a.barecat-shard-00000" SLOW_MICROSECONDS=500000 \
        "$SHARDBOX" verify --max-time=1s --report=r.jsonl a.barecat
    stderr_is 'shardbox verify: a.barecat: the time was over before a file was read: looking through the index takes longer than --max-time=1s'
    [[ $(report 'select(.kind == "warning") | .what') == time ]]
}

@test "warnings and problems are in the report, not on standard error" {
    make_archive
    sql a.barecat "UPDATE files SET crc32c = NULL WHERE path = 'one'"
    run_ok sb verify --report=r.jsonl a.barecat
    stderr_is ''
    [[ $(report 'select(.kind == "warning") | .what') == unchecked ]]
    [[ $(report 'select(.kind == "summary") | .unchecked') == 1 ]]
    run_fail 1 sb verify --report=r.jsonl a.barecat one nowhere
    stderr_is 'shardbox verify: a.barecat: 1 problem, named in r.jsonl'
    [[ $(report 'select(.kind == "problem") | [.what, .path]') == '["missing","nowhere"]' ]]
    [[ $(report 'select(.kind == "start") | .names') == '["one","nowhere"]' ]]
}

@test "tars, zips and bags have reports and metrics, too" {
    make_archive
    for other in a.tar a.zip a.bagz; do
        sb convert -q a.barecat "$other"
        rm -f m.prom
        run_ok sb verify --report=r.jsonl --prom=m.prom "$other"
        stderr_is ''
        output_is ''
        [[ $(report 'select(.kind == "summary") | .status') == 0 ]] || fail "$(cat r.jsonl)"
        archive=$other metric_is exit_status 0
        metrics_are_well_formed
    done
    [[ $(report 'select(.kind == "summary") | [.container, .shards, .records, .damaged]') == '["bag",1,21,0]' ]] ||
        fail "$(cat r.jsonl)"
    truncate -s 300000 a.tar
    rm m.prom
    run_fail 1 sb verify --report=r.jsonl --prom=m.prom a.tar
    output_is ''
    (($(wc -l <<<"$stderr") == 1)) || fail 'not one line'
    archive=a.tar metric_is errors,kind=\"damaged\" 1
}

@test "a run that fails writes both all the same" {
    run_fail 2 sb verify --report=r.jsonl --prom=m.prom nowhere.barecat
    (($(wc -l <<<"$stderr") == 1)) || fail 'not one line'
    [[ $(report 'select(.kind == "summary") | .status, .failure, .text') == 2*missing*nowhere.barecat* ]] || fail "$(cat r.jsonl)"
    archive=nowhere.barecat metric_is exit_status 2
    archive=nowhere.barecat metric_is last_success_timestamp_seconds 0
    metrics_are_well_formed
    printf 'text\n' >text.barecat
    rm m.prom
    run_fail 2 sb verify --report=r.jsonl --prom=m.prom text.barecat
    archive=text.barecat metric_is exit_status 2
}

# bats test_tags=threads
@test "a run that a signal ends writes what it found" {
    make_archive
    flip a.txt
    "$SHARDBOX" verify -j1 --bwlimit=8K --report=r.jsonl --prom=m.prom a.barecat &
    local pid=$!
    until grep -q checksum .r.jsonl.shardbox-out 2>/dev/null || ! kill -0 $pid; do
        sleep 0.05
        readlink /proc/$pid/fd/* | grep -q shard-00000 && break
    done
    kill -TERM $pid
    wait $pid || (($? == 143)) || fail "status $?"
    [[ $(report 'select(.kind == "summary") | .status') == 143 ]] || fail "$(cat r.jsonl)"
    metric_is exit_status 143
    nothing_else_is_here
}

@test "metrics: what the last run found, every kind of defect with a series of its own" {
    make_archive
    run_ok sb verify --prom=m.prom a.barecat
    output_is ''
    stderr_is ''
    metrics_are_well_formed
    metric_is exit_status 0
    metric_is files 21
    metric_is files_read 21
    metric_is unchecked_files 0
    [[ $(metric bytes) == "$(metric bytes_read)" ]]
    [[ $(metric last_run_timestamp_seconds) == "$(metric last_success_timestamp_seconds)" ]]
    flip one
    run_fail 1 sb verify --prom=m.prom a.barecat
    output_has 'checksum: one: '
    metric_is errors,kind=\"checksum\" 1
    metric_is errors,kind=\"bounds\" 0
    metric_is exit_status 1
    metrics_are_well_formed
}

@test "metrics have each kind that the manual page lists" {
    make_archive
    sb verify --prom=m.prom a.barecat
    sed -n '/^\.Sh KINDS OF DEFECTS/,/^\.El/s/^\.It Li //p' "$PROJECT/man/shardbox-reports.7" |
        tr -d ' ' | tr , '\n' | sort >listed
    sed -n 's/.*kind="\([a-z]*\)".*/\1/p' m.prom | grep -v '^other$' | sort >written
    diff listed written
}

@test "a file that begins with a NUL is not taken for an empty one" {
    make_archive
    head -c 3 /dev/zero >m.prom
    run_fail 2 sb verify --prom=m.prom a.barecat
    stderr_is 'shardbox verify: m.prom: holds something else than metrics of verify; choose another name'
    [[ $(stat -c %s m.prom) == 3 ]]
}

@test "the time of the last success outlives failures, and is taken strictly" {
    make_archive
    sb verify --prom=m.prom a.barecat
    sed -i 's/\(last_success_timestamp_seconds{.*}\) .*/\1 1234567890/' m.prom
    flip one
    run_fail 1 sb verify --prom=m.prom a.barecat
    metric_is last_success_timestamp_seconds 1234567890
    flip one
    run_ok sb verify --prom=m.prom a.barecat
    (($(metric last_success_timestamp_seconds) > 1600000000))
    for value in -1 1e9 12x '' '99999999999999999999'; do
        sed -i "s/\(last_success_timestamp_seconds{.*}\) .*/\1 $value/" m.prom
        run_fail 2 sb verify --prom=m.prom a.barecat
        stderr_is 'shardbox verify: m.prom: is damaged; remove it'
    done
}

@test "metrics of another archive, and what is none, are not replaced" {
    make_archive
    sb pack b.barecat tree
    sb verify --prom=m.prom b.barecat
    run_fail 2 sb verify --prom=m.prom a.barecat
    stderr_is 'shardbox verify: m.prom: has the metrics of another archive; choose another name, or remove it'
    printf 'my thesis\n' >m.prom
    run_fail 2 sb verify --prom=m.prom a.barecat
    stderr_is 'shardbox verify: m.prom: holds something else than metrics of verify; choose another name'
    [[ $(cat m.prom) == 'my thesis' ]]
    for file in a.barecat a.barecat-shard-00000; do
        for option in --prom --report; do
            cp "$file" before
            run_fail 2 sb verify $option=$file a.barecat
            cmp "$file" before
        done
    done
}

all_files() {
    find . -type f ! -name '*separate-stderr*' -exec cksum {} + | sort
}

# refuses OPTION...: a run with them writes nothing, there or elsewhere
refuses() {
    local before
    before=$(all_files)
    run_fail 2 sb verify --repair-from="${copy:-tree}" "$@" a.barecat
    [[ $(all_files) == "$before" ]] || fail "$*: files have changed"
}

@test "what is verified, or restored from, is never written over" {
    make_archive
    mkdir copy
    cp a.barecat* copy
    tar -cf copy.tar -C tree .
    : >a.barecat-shard-00001
    ln -s a.barecat index
    ln -s a.barecat-shard-00000 shard
    ln a.barecat-shard-00001 hard
    ln -s copy/a.barecat-shard-00000 theirs
    for option in --prom --report --state; do
        for file in a.barecat a.barecat-shard-0000{0,1} index shard hard; do
            refuses "$option=$file"
        done
        copy=copy/a.barecat refuses $option=theirs
        copy=copy.tar refuses $option=copy.tar
    done
    refuses --report=hard
    stderr_is 'shardbox verify: hard: holds bytes of the input a.barecat; choose another output'
    copy=copy.tar refuses --report=copy.tar
    stderr_is 'shardbox verify: copy.tar: is input and output at once; choose another output'
}

@test "names that an archive has for its own are not taken, whether they are there or not" {
    make_archive
    for option in --prom --report --state; do
        for end in -shard-00001 .new .part .new-shard-00000 -journal -wal -shm; do
            refuses $option=a.barecat$end
            stderr_is "shardbox verify: a.barecat$end: is a name that the archive a.barecat has for its own; choose another output"
        done
    done
    mv a.barecat b-sqlite-index
    mv a.barecat-shard-00000 b-shard-00000
    run_fail 2 sb verify --report=b b
    stderr_is 'shardbox verify: b: is an archive, whose shards would be lost if a report replaced it; choose another output, or remove it first'
}

@test "beside a directory names are free that an archive of its name would have" {
    make_archive
    mkdir data
    run_ok sb verify --report=data-shard-00000 a.barecat
}

@test "shards are not written over where the index is damaged, either" {
    make_archive
    ln -s a.barecat-shard-00000 shard
    printf garbage | dd of=a.barecat bs=1 seek=100 conv=notrunc status=none
    refuses --report=shard
    printf garbage | dd of=a.barecat bs=1 conv=notrunc status=none
    refuses --report=a.barecat-shard-00000
}

@test "report, metrics and state are three files" {
    make_archive
    ln -s s t
    for other in s ./s "$PWD/s"; do
        refuses --state=s "--report=$other"
        stderr_is "shardbox verify: $other: is both the report and the state; give each a file of its own"
        refuses --prom=s "--report=$other"
    done
    sb verify --state=s a.barecat
    refuses --state=s --prom=t
    stderr_is 'shardbox verify: t: is both the file of metrics and the state; give each a file of its own'
}

@test "metrics are readable for all, whatever the umask, and a new file each time" {
    make_archive
    umask 077
    sb verify --prom=m.prom a.barecat
    [[ $(stat -c %a m.prom) == 644 ]]
    ln m.prom before
    sb verify --prom=m.prom a.barecat
    [[ ! m.prom -ef before ]]
    nothing_else_is_here
}

@test "an archive has one name in metrics, wherever it is named from" {
    make_archive
    mkdir below
    sb verify --prom=m.prom a.barecat
    sed -i 's/\(last_success_timestamp_seconds{.*}\) .*/\1 1234567890/' m.prom
    flip one
    for name in ./a.barecat "$PWD/a.barecat" below/../a.barecat; do
        run_fail 1 sb verify --prom=m.prom "$name"
        metric_is last_success_timestamp_seconds 1234567890
    done
    (cd below && run_fail 1 sb verify --prom=../m.prom ../a.barecat)
    metric_is last_success_timestamp_seconds 1234567890
    flip one
    run_fail 2 sb verify --prom=m.prom - <a.barecat
    stderr_has "metrics of another archive"
}

@test "names in labels are escaped" {
    make_archive
    local name=$'a "b\\c\nd\377.barecat'
    sb pack "$name" tree
    run_ok sb verify --prom=m.prom --report=r.jsonl "$name"
    metrics_are_well_formed
    grep -q '^shardbox_verify_exit_status{archive="/.*/a \\"b\\\\c\\\\nd\\\\377.barecat"} 0$' m.prom || fail "$(cat m.prom)"
    jq -e . r.jsonl >/dev/null
    name=$'ü "b\\c\nd.barecat'
    sb pack "$name" tree
    rm m.prom
    run_ok sb verify --prom=m.prom "$name"
    grep -q '^shardbox_verify_exit_status{archive="/.*/ü \\"b\\\\c\\nd.barecat"} 0$' m.prom || fail "$(cat m.prom)"
    sed -i 's/\(last_success_timestamp_seconds{.*}\) .*/\1 1234567890/' m.prom
    run_fail 1 sb verify --prom=m.prom "$name" nowhere
    grep -q 'last_success_timestamp_seconds{.*} 1234567890$' m.prom
}

@test "where they cannot be written is known before anything is read" {
    make_archive
    for option in --report --prom; do
        run_fail 2 sb verify $option=nowhere/x a.barecat
        stderr_is 'shardbox verify: nowhere/x: cannot be created: No such file or directory'
    done
    run_fail 2 sb verify --report=r --prom=r a.barecat
    stderr_is 'shardbox verify: r: is both the report and the file of metrics; give each a file of its own'
    run_fail 2 sb verify --report=r --json a.barecat
    stderr_is "shardbox verify: --report writes what --json would; leave one out; try 'shardbox verify --help'"
    run_fail 2 sb verify --prom=- a.barecat
    stderr_is "shardbox verify: --prom writes a file, which the collector reads; give it a name; try 'shardbox verify --help'"
    run_ok sb verify --report=- a.barecat
    [[ $(jq -r .kind <<<"$output") == $'start\nsummary' ]]
}

@test "with --state: how far the rounds are" {
    make_archive
    run_ok sb verify --state=s --report=r.jsonl --prom=m.prom a.barecat
    stderr_is ''
    metrics_are_well_formed
    metric_is units 1
    metric_is units_read 1
    (($(metric oldest_read_timestamp_seconds) > 1600000000))
    [[ $(report 'select(.kind == "summary") | [.units, .units_due, .units_read, .oldest_read > 1600000000]') == '[1,1,1,true]' ]]
    # Nothing is due, and all is well.
    run_ok sb verify --state=s --max-age=1d --report=r.jsonl --prom=m.prom a.barecat
    metric_is units_due 0
    metric_is bytes_read 0
    metric_is exit_status 0
}

@test "a run that failed before it knew says nothing of how far the rounds are" {
    make_archive
    run_fail 2 sb verify --state=s --report=r.jsonl --prom=m.prom none.barecat
    run ! grep oldest_read r.jsonl m.prom
    rm m.prom
    run_fail 2 sb verify --state=s --report=r.jsonl --prom=m.prom --repair-from=none a.barecat
    run ! grep oldest_read r.jsonl m.prom
}
