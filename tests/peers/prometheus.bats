#!/usr/bin/env bats
# Prometheus' own tool reads the metrics of verify, and the rules of shardbox-cron(7).

load ../bats/helper

promtool=$PEERS/prometheus/usr/bin/promtool

setup() {
    [[ -x $promtool ]] || skip 'no promtool'
    cd "$BATS_TEST_TMPDIR" || return
    mkdir tree
    seq 1000 >tree/numbers
    awk '/^\.Bd / { inside = 1; text = ""; next }
        /^\.Ed/ { if (index(text, "# shardbox.rules.yml:") == 1) printf "%s", text; inside = 0 }
        inside { text = text $0 "\n" }' "$PROJECT/man/shardbox-cron.7" >rules.yml
}

@test "promtool finds nothing to say about the metrics, whatever the archive is called" {
    for name in a.barecat $'a "b\\c\nd\377.barecat'; do
        sb pack "$name" tree
        rm -f m.prom
        sb verify --prom=m.prom "$name"
        run_ok "$promtool" check metrics <m.prom
        output_is ''
        stderr_is ''
    done
}

@test "the rules are valid" {
    run_ok "$promtool" check rules rules.yml
    output_has 'SUCCESS: 6 rules found'
}

# series METRIC[,LABELS] VALUES: a line of input for a test of rules
series() {
    printf "      - {series: 'shardbox_verify_%s{archive=\"a\",instance=\"host\"%s}', values: '%s'}\n" \
        "${1%%,*}" "$(sed -n 's/^[^,]*//p' <<<"$1")" "$2"
}

# alert NAME HOURS [FIRING]: one of the archive, or none
alert() {
    printf '      - alertname: %s\n        eval_time: %sh\n        exp_alerts:%s\n' "$1" "$2" "${3:- []}"
}

# firing SEVERITY SUMMARY
firing() {
    printf "\n          - exp_labels: {archive: a, instance: host, severity: %s}\n            exp_annotations: {summary: '%s'}" "$1" "$2"
}

@test "the alarms ring when they should, and not else" {
    {
        printf 'rule_files: [rules.yml]\nevaluation_interval: 1h\ntests:\n  - interval: 1h\n    input_series:\n'
        # Damage that was restored at once, after 12 hours; damage that was not, after a day. Read
        # within a day, until nothing runs any more.
        series 'errors,kind="checksum"' '0x11 1 0x10 1x300'
        series 'errors,kind="bounds"' '0x323'
        series exit_status '0x23 1x300'
        series restored_files '0x11 2 0x311'
        series last_success_timestamp_seconds '0x2000'
        series oldest_read_timestamp_seconds '0x3000'
        printf '    alert_rule_test:\n'
        alert ShardboxRestored 11
        alert ShardboxRestored 12 "$(firing warning 'a on host was damaged and is restored; look after the disk')"
        alert ShardboxDamaged 12
        alert ShardboxDamaged 23
        alert ShardboxDamaged 24 "$(firing critical 'a on host is damaged; see shardbox-cron(7)')"
        alert ShardboxNotVerified 72
        alert ShardboxNotVerified 73 "$(firing warning 'a on host was not found sound for three days')"
        alert ShardboxFallsBehind 2160
        alert ShardboxFallsBehind 2161 "$(firing warning 'something in a was not read for 60 days; give it more time')"
    } >tests.yml
    run_ok "$promtool" test rules tests.yml
}
