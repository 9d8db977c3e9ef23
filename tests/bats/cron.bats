#!/usr/bin/env bats
# What shardbox-cron(7) gives to be copied, as it stands there, but for its directories: /data,
# /backup, /new, /var/lib and /usr/local/bin become directories of the test.

load helper
load cache

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p data/set backup new var/lib/shardbox var/lib/prometheus/node-exporter usr/local/bin
    ln -s "$SHARDBOX" usr/local/bin/shardbox
    make_tree data/set
    sb pack data/set.barecat -C data/set .
    printf '#!/bin/sh\n{ echo "$@"; cat; } >>%s/mail\n' "$PWD" >usr/local/bin/mail
    chmod +x usr/local/bin/mail
}

# block NAME: what stands on the page under the comment "# NAME: ..."
block() {
    # shellcheck disable=SC2094 # what is written has only its name from the page
    "$PROJECT/scripts/page-example" "$PROJECT/man/shardbox-cron.7" "$1" |
        sed -E "s,(^|[^a-z])/(data|backup|new|var/lib|usr/local/bin)\>,\1$PWD/\2,g" >"$1"
    [[ -s $1 ]] || fail "no $1 in shardbox-cron(7)"
}

# run_crontab NAME [OPTION [WORD]]: as cron runs the last line of a crontab, or the last with that word,
# with the variables above it and nothing else, and with one more option. What it prints would be mailed.
run_crontab() {
    local variables command
    block "$1"
    mapfile -t variables < <(grep -E '^[A-Z]+=' "$1")
    command=$(grep -e "${3-}" "$1" | tail -n 1 | cut -d' ' -f6-)${2:+ $2}
    [[ $command != *[^\\]%* ]] || fail 'cron would end the line at a %'
    run --separate-stderr env -i HOME=/ LOGNAME=root SHELL=/bin/sh "${variables[@]}" \
        /bin/sh -c "${command//\\%/%}"
}

# As systemd runs the ExecStart of a unit: by its own rules, which know quotes, but no shell.
run_unit() {
    local words variables
    block "$1"
    mapfile -t variables < <(sed -n 's/^Environment=//p' "$1")
    eval "words=($(sed -n 's/^ExecStart=//p' "$1"))"
    run --separate-stderr env -i PATH="$PWD/usr/local/bin:/usr/bin:/bin" "${variables[@]}" "${words[@]}"
}

# As a user types it
run_block() {
    block "$1"
    run --separate-stderr env PATH="$PWD/usr/local/bin:$PATH" sh "$1"
}

flip() {
    flip_byte data/set.barecat-shard-00000 "$(sql data/set.barecat "SELECT offset FROM files WHERE path = '$1'")"
}

status_in_metrics() {
    metric exit_status
}

metric() {
    sed -n "s/^shardbox_verify_$1{.* //p" var/lib/prometheus/node-exporter/set.prom
}

# As a disk damages it, which leaves its time.
spoil() {
    touch -r data/set.barecat-shard-00000 time
    flip "$1"
    touch -r time data/set.barecat-shard-00000
}

# protect waits until the time of a file has passed.
protect() {
    touch -d '1 hour ago' data/set.barecat*
    run_ok sb protect data/set.barecat
}

@test "crontab: no mail as long as all is well, one line when it is not" {
    for line in crontab crontab-week; do
        rm -f var/lib/shardbox/* var/lib/prometheus/node-exporter/*
        run_crontab $line
        ((status == 0)) && [[ -z $output$stderr ]] || fail 'a mail'
        [[ $(status_in_metrics) == 0 ]]
        [[ $(jq -r .kind var/lib/shardbox/set.jsonl) == $'start\nsummary' ]]
    done
    rm data/set.barecat-shard-00000
    run_crontab crontab
    ((status == 1 && $(wc -l <<<"$output$stderr") == 1)) || fail 'not one line'
    [[ $(status_in_metrics) == 1 ]]
}

@test "crontab: damage is told night by night, until it is repaired" {
    cp -r data/set.barecat* backup
    flip sub/file
    for night in 1 2; do
        run_crontab crontab
        ((status == 1)) && [[ $stderr == *': 1 defect, named in '* ]] || fail "night $night"
    done
    run_block damaged
    output_is sub/file
    run_block repair
    ((status == 0)) && [[ $stderr == *': 1 damaged file (10) restored from '* ]] || fail 'repair'
    run_block again
    ((status == 0)) && [[ -z $output$stderr ]] || fail 'not over'
    [[ $(status_in_metrics) == 0 ]]
    run_crontab crontab
    ((status == 0)) && [[ -z $output$stderr ]] || fail 'a mail'
}

@test "a file that changed is packed anew" {
    flip sub/file
    run_crontab crontab
    ((status == 1))
    printf 'changed\n' >data/set/sub/file
    run_block repack
    ((status == 0)) || fail 'repack'
    run_block again
    ((status == 0)) || fail 'verify'
    [[ $(sb cat data/set.barecat sub/file) == changed ]]
}

@test "a file that is taken out alarms nobody" {
    flip sub/file
    run_crontab crontab
    ((status == 1))
    sb rm data/set.barecat sub/file
    run_block again
    ((status == 0)) && [[ -z $output$stderr ]] || fail 'not over'
}

@test "crontab with --repair-from: restored the same night, and one line says so" {
    cp -r data/set.barecat* backup
    flip sub/file
    run_crontab crontab '--repair-from=backup/set.barecat'
    ((status == 0)) && [[ $output$stderr == *': 1 damaged file (10) restored from backup/set.barecat' ]] || fail 'not told'
    grep -q '^shardbox_verify_restored_files.* 1$' var/lib/prometheus/node-exporter/set.prom
    run_crontab crontab '--repair-from=backup/set.barecat'
    ((status == 0)) && [[ -z $output$stderr ]] || fail 'a mail'
}

@test "crontab-repair: repaired by parity files the same night, and one line says so" {
    protect
    run_crontab crontab-repair
    ((status == 0)) && [[ -z $output$stderr ]] || fail 'a mail'
    [[ $(metric protected_files) == 2 && $(metric unprotected_files) == 0 ]] || fail 'protected'
    spoil sub/file
    rm var/lib/shardbox/set.state # else it is not due for 30 days
    run_crontab crontab-repair
    ((status == 0)) && [[ $output$stderr == *': 1 damaged file (10) restored by parity files' ]] || fail 'not reported'
    [[ $(metric restored_files) == 1 ]]
    run_crontab crontab-repair
    ((status == 0)) && [[ -z $output$stderr ]] || fail 'a mail'
}

@test "crontab-repair: what is beyond repair is one line each night" {
    protect
    cp -p data/set.barecat-shard-00000 whole
    head -c "$(stat -c %s whole)" /dev/zero >data/set.barecat-shard-00000
    touch -r whole data/set.barecat-shard-00000
    for _ in 1 2; do
        run_crontab crontab-repair
        ((status == 1 && $(wc -l <<<"$output$stderr") == 1)) || fail 'not one line'
        [[ $(status_in_metrics) == 1 ]]
    done
    grep -q '"kind":"checksum","path":"sub/file"' var/lib/shardbox/set.jsonl
}

@test "crontab-repair: parity files follow what is added" {
    protect
    mkdir more
    echo more >more/added
    sb pack --append data/set.barecat -C more .
    run_crontab crontab-repair
    ((status == 0)) || fail 'verify'
    [[ $(metric unprotected_files) -gt 0 ]]
    touch -d '1 minute ago' data/set.barecat*
    run_crontab crontab-repair '' protect
    ((status == 0)) && [[ -z $output$stderr ]] || fail 'a mail'
    run_crontab crontab-repair
    [[ $(metric unprotected_files) == 0 ]]
}

@test "move: to another disk, and repaired there" {
    protect
    spoil sub/file
    run_block move
    ((status == 0)) || fail 'move'
    cmp new/set.barecat data/set.barecat
    run_ok sb verify new/set.barecat
    run_ok sb protect --check new/set.barecat
}

@test "copy: what has arrived is verified" {
    run_block copy
    ((status == 0)) && [[ -z $output$stderr ]] || fail 'copy'
    sb verify backup/set.barecat
    [[ $(jq -r 'select(.kind == "summary") | .status' var/lib/shardbox/backup.jsonl) == 0 ]]
}

@test "the service verifies, and the alarm mails" {
    run_unit shardbox-verify.service
    ((status == 0)) && [[ -z $output$stderr ]] || fail 'not quiet'
    [[ $(status_in_metrics) == 0 ]]
    flip one
    rm var/lib/shardbox/set.state # else it is not due for 30 days
    run_unit shardbox-verify.service
    ((status == 1)) || fail 'not damaged'
    run_unit shardbox-alarm.service
    ((status == 0)) || fail 'alarm'
    grep -q 'did not verify storage@example.org$' mail
    grep -q '"kind":"checksum","path":"one"' mail
}

@test "crontab-caches: what killed jobs left is put right, and one line says so" {
    mkdir data/caches
    make_dicts data/caches/k
    run_crontab crontab-caches
    ((status == 0)) && [[ -z $output$stderr ]] || fail 'a mail'
    printf 'half' >data/caches/k/index.pkl
    run_crontab crontab-caches
    ((status == 1 && $(wc -l <<<"$output$stderr") == 1)) || fail 'written to a moment ago'
    find data/caches -type f -exec touch -d '7 hours ago' {} +
    run_crontab crontab-caches
    ((status == 0)) && [[ $output$stderr == *'/data/caches: 1 defect was put right' ]] || fail 'not told'
    run_crontab crontab-caches
    ((status == 0)) && [[ -z $output$stderr ]] || fail 'a mail'
}

@test "systemd takes the units" {
    command -v systemd-analyze >/dev/null || skip 'no systemd-analyze'
    for unit in shardbox-verify.service shardbox-verify.timer shardbox-alarm.service; do
        block $unit
    done
    run --separate-stderr systemd-analyze --man=no verify ./shardbox-verify.service ./shardbox-verify.timer \
        ./shardbox-alarm.service
    [[ $output$stderr != *shardbox* ]] && ((status == 0)) || fail 'systemd-analyze'
}

@test "the rules are about metrics that there are" {
    run_crontab crontab
    block shardbox.rules.yml
    while read -r metric; do
        grep -q "^$metric{" var/lib/prometheus/node-exporter/set.prom || fail "$metric"
    done < <(grep -oE 'shardbox_verify_[a-z_]+' shardbox.rules.yml | sort -u)
}
