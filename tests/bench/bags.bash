# Bags, against the original Bagz from PyPI. Sourced by run, whose functions it uses.

find_bagz() {
    local venv=$project/build/bench/bagz
    bagz=$venv/bin/python3
    if [ ! -x "$bagz" ] || ! "$bagz" -c 'import bagz' 2>/dev/null; then
        { python3 -m venv "$venv" && "$venv/bin/pip" install -q bagz==0.3.8; } >&2 || bagz=
    fi
    [ -n "$bagz" ] || say "no Bagz: bags are left out"
}

bagz_peer() {
    local key=$1
    shift
    measure "$key" "$bagz" "$project/tests/bench/bagz_peer.py" "$@"
}

# Reading all, and many records at random, to /dev/null.

bagz_read() {
    bagz_peer bagz-read iterate records.bagz
    bagz_peer bag-read iterate records.bag
}
cat_bag() {
    measure cat-bag cat records.bag
}
sb_read_bags() {
    measure sb-bagz-read-1 "$shardbox" cat --threads=1 records.bagz
    measure sb-bagz-read-2 "$shardbox" cat --threads=2 records.bagz
    measure sb-bag-read-1 "$shardbox" cat --threads=1 records.bag
    measure sb-bag-read-2 "$shardbox" cat --threads=2 records.bag
}
bagz_random() {
    bagz_peer bagz-random random records.bagz numbers
    bagz_peer bag-random random records.bag numbers
}
sb_random() {
    measure sb-bagz-random-1 "$shardbox" cat --threads=1 -T numbers records.bagz
    measure sb-bagz-random-2 "$shardbox" cat --threads=2 -T numbers records.bagz
    measure sb-bag-random-1 "$shardbox" cat --threads=1 -T numbers records.bag
}
bagz_index() {
    bagz_peer bagz-index index records.bagz keys
    bagz_peer bag-index index records.bag keys
}
sb_find_records() {
    measure sb-bagz-index "$shardbox" ls --threads=2 --find -T keys records.bagz
    measure sb-bag-index "$shardbox" ls --threads=2 --find -T keys records.bag
}
sb_one_record() {
    measure sb-one-record -n 20 "$shardbox" cat many.bag $((records * 7))
}

# Writing the lines of a file, and from bag to bag. Each run makes its output anew.

bagz_write() {
    rm -f out.*
    bagz_peer bagz-write write records.txt out.bagz
    bagz_peer bag-write write records.txt out.bag
}
sb_write_bag() {
    rm -f out.*
    measure "$1" "$shardbox" convert "${@:3}" --frame=line records.txt "$2"
}
sb_write_bags() {
    sb_write_bag sb-bagz-write-1 out.bagz --threads=1
    sb_write_bag sb-bagz-write-2 out.bagz --threads=2
    sb_write_bag sb-bag-write-1 out.bag --threads=1
}
cp_bags() {
    rm -f out.*
    measure cp-bagz cp records.bagz out.bagz
    measure cp-bag cp records.bag out.bag
}
sb_copy_bags() {
    rm -f out.*
    measure sb-copy-bagz "$shardbox" convert --threads=2 records.bagz out.bagz
    measure sb-copy-bag "$shardbox" convert --threads=2 records.bag out.bag
}

# One record of ten times as many. A disk that is slow to forget is no part of it.
measure_one_record() {
    "$bagz" "$project/tests/bench/bagz_peer.py" many $((records * 10))
    turns sb_one_record
    rm -f many.bag
}

measure_bags() {
    [ -n "$bagz" ] || return 0
    records=$((files * 5))
    say "making $records records"
    "$bagz" "$project/tests/bench/bagz_peer.py" make "$records"
    shuf -n "$reads" --random-source=records.bagz -i 0-$((records - 1)) >numbers
    turns cat_bag bagz_read sb_read_bags
    turns bagz_random sb_random
    shuf -n 1000 --random-source=records.bagz records.txt >keys
    turns bagz_index sb_find_records
    turns bagz_write sb_write_bags
    turns cp_bags sb_copy_bags
    rm -f records.* out.*
    measure_one_record
}

# bag_figure WHAT GOAL KEY PEER: how many times as fast as the peer.
bag_figure() {
    figure "$1" at-least "$2" " ×" "$(ratio "$(median "$4")" "$(median "$3")")"
}

print_bag_figures() {
    bag_figure "read a .bagz, one thread: speed of Bagz" 1 sb-bagz-read-1 bagz-read
    bag_figure "the same, two threads" 1.5 sb-bagz-read-2 bagz-read
    bag_figure "$reads random records of it, one thread: speed of Bagz" 1 sb-bagz-random-1 bagz-random
    bag_figure "the same, two threads" 1.5 sb-bagz-random-2 bagz-random
    bag_figure "read a .bag, one thread: speed of Bagz" 1 sb-bag-read-1 bag-read
    bag_figure "$reads random records of it, one thread: speed of Bagz" 1 sb-bag-random-1 bag-random
    figure "read a .bag: time of \`cat\`" at-most 3 " ×" \
        "$(ratio "$(median sb-bag-read-1)" "$(median cat-bag)")"
    bag_figure "write a .bagz, one thread: speed of Bagz" 1 sb-bagz-write-1 bagz-write
    bag_figure "the same, two threads" 1.5 sb-bagz-write-2 bagz-write
    bag_figure "write a .bag, one thread: speed of Bagz" 1 sb-bag-write-1 bag-write
    figure "a .bagz to a .bagz: time of \`cp\`" at-most 1.3 " ×" \
        "$(ratio "$(median sb-copy-bagz)" "$(median cp-bagz)")"
    figure "a .bag to a .bag: time of \`cp\`" at-most 1.3 " ×" \
        "$(ratio "$(median sb-copy-bag)" "$(median cp-bag)")"
    figure "find the numbers of 1,000 records of a .bagz: time of \`bagz.Index\`" at-most 0.7 " ×" \
        "$(ratio "$(median sb-bagz-index)" "$(median bagz-index)")"
    figure "the same, of a .bag" at-most 0.7 " ×" \
        "$(ratio "$(median sb-bag-index)" "$(median bag-index)")"
    figure "one record of ten times as many" at-most 5 " ms" "$(ratio "$(median sb-one-record)" 1 1e3)"
    figure "memory for that" at-most 8 " MB" "$(peak sb-one-record)"
}
