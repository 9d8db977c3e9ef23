# What the tests against Bagz share: Bagz 0.3.8 from PyPI.

load ../bats/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_bagz
}

# Skips the test where Bagz could not be installed.
need_bagz() {
    [[ -e $PEERS/bagz-0.3.8/ready ]] || skip "no Bagz here"
}

# bagz COMMAND...: its own library, as bags.py asks it.
bagz() {
    "$PEERS/bagz-0.3.8/bin/python" "$PROJECT/tests/peers/bags.py" "$@"
}

# make_records: 43 records, framed, in the file records: empty ones in a row and at both ends, one
# that comes twice, one of 300,000 bytes, and bytes of every value.
make_records() {
    python3 - >records <<'EOF_PYTHON'
import random, struct, sys
rng = random.Random(5)
records = [b"", b"one", b"", b"", bytes(range(256)), rng.randbytes(3000), b"lemma " * 50000]
records += [b"record %d " % i * rng.randrange(40) for i in range(32)]
records += [b"twice", b"twice", b"\n", b""]
for data in records:
    sys.stdout.buffer.write(struct.pack("<I", len(data)) + data)
EOF_PYTHON
}

# options_of COMBINATION: of SUFFIX.PLACEMENT.COMPRESSION what is not "default", as our options.
options_of() {
    local suffix placement compression
    IFS=. read -r suffix placement compression <<<"$1"
    [[ $placement == default ]] || printf -- '--limits=%s\n' "$placement"
    [[ $compression == default ]] || printf -- '--compression=%s\n' "$compression"
    : "$suffix"
}

# each_combination FUNCTION: calls it with the name, the bag's path below it, and our options.
each_combination() {
    local name options
    for name in $(bagz combinations); do
        mapfile -t options < <(options_of "$name")
        "$1" "$name" "$name/data.${name%%.*}" "${options[@]}" || return
    done
}

# reads_as FRAMES SPEC [OPTION...]: cat gives these records.
reads_as() {
    run_ok sh -c '"$0" cat --frame=u32 "$@" >got' "$SHARDBOX" "${@:2}"
    cmp got "$1"
}

# writes FRAMES BAG [OPTION...]: convert makes a bag of these records.
writes() {
    mkdir -p "$(dirname "$2")"
    run_ok sb convert --frame=u32 "${@:3}" - "$2" <"$1"
}
