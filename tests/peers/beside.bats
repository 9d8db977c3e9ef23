#!/usr/bin/env bats
# Barecat 0.3.1 and a command of ours on one archive at the same time: one is refused, or both have done
# their work, and readers of either get old bytes or new ones.

load barecat

@test "Barecat writes or reads while a command is stopped on the way, and the other way round" {
    need_barecat
    [[ -e ${FAULT_SHIM:-} ]] || skip 'the shim is not built'
    # Every twentieth stop, others each day.
    BARECAT_PYTHON=$PEERS/barecat-0.3.1/bin/python \
        run_ok "$PROJECT/tests/faults/pairs" -b -k 20 -o $((TODAY % 20))
    output_has ' 0 bad'
}
