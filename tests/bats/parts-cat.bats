# Work cut among processes: cat --part.

load helper

# A bag of the numbers from 0, a line each.
make_numbers() {
    seq 0 $(($1 - 1)) | sb convert --frame=line - n.bagz
}

# What the parts write, one behind the other; $1: how many.
parts_of() {
    local count=$1 part
    shift
    for ((part = 1; part <= count; part++)); do
        sb cat --part="$part/$count" "$@" || return
    done
}

# The parts one behind the other are the whole.
are_the_whole() {
    local count
    for count in 1 2 3 7 50; do
        cmp <(parts_of "$count" --frame=line "$@") <(sb cat --frame=line "$@") || return
    done
}

@test "cat --part: records in runs, one part behind the other the whole" {
    make_numbers 43
    run_ok are_the_whole n.bagz
    run_ok are_the_whole n.bagz 3:40:2 5 ::-1
    run_ok are_the_whole --shuffle --seed=7 n.bagz
    run_ok are_the_whole --sample=10 n.bagz
    run_ok are_the_whole --sample=60 --replace n.bagz 3:9
    run_ok sb cat --part=2/4 --frame=line n.bagz
    output_is "$(seq 11 21)"
}

@test "cat --part: of a list of numbers a run" {
    make_numbers 43
    seq 40 -3 1 >list
    run_ok are_the_whole -T list n.bagz 7
    run_ok sb cat --part=2/2 --frame=line n.bagz -T - <<<$'1\n2\n3'
    output_is 3
    echo 99 >>list
    run_fail 1 sb cat --part=1/2 --frame=line -T list n.bagz
    stderr_has 'record 99: there are 43'
    run_ok sb cat --part=2/2 --frame=line -T list n.bagz
}

@test "cat --part --forever: a run of each round" {
    make_numbers 8
    run_ok bash -c '"$SHARDBOX" cat --forever --part=2/4 --frame=line n.bagz | head -6 | tr "\n" " "'
    output_is '2 3 2 3 2 3 '
    for part in 1 2 3; do
        sb cat --forever --shuffle --part=$part/3 --frame=line n.bagz | head -6 >round-$part
    done
    # Of a round of eight, parts have three, three and two.
    run_ok cmp <(head -qn 3 round-1 round-2 && head -n 2 round-3) <(sb cat --shuffle --frame=line n.bagz)
    run_ok cmp <(sed -n 4,6p round-1; sed -n 4,6p round-2; sed -n 3,4p round-3) \
        <(sb cat --forever --shuffle --frame=line n.bagz | sed -n '9,16p;16q')
    run_ok sb cat --forever --part=9/9 n.bagz
    output_is ''
}

@test "cat --part: of names every N-th, as arguments, from a list, and of keys" {
    make_archive
    (cd tree && find . -type f -printf '%P\0') >list
    for count in 1 2 3 7 50; do
        run_ok cmp <(parts_of $count --batch -0 -T list a.barecat link one | LC_ALL=C sort) \
            <(sb cat --batch -0 -T list a.barecat link one | LC_ALL=C sort)
    done
    run_ok sb cat --part=2/2 a.barecat a.txt one empty sub-file
    output_is $'xbetween'
    printf 'a\nb\nc\nd\n' | sb convert --frame=line - keys.bagz
    make_numbers 4
    run_ok sb cat --part=2/2 --frame=line --keys=keys.bagz n.bagz d c b a
    output_is $'2\n0'
}

@test "cat --part: each process answers its own of a stream of names" {
    make_archive
    run_fail 1 sb cat --part=2/3 --batch -T - a.barecat <<<$'a.txt\none\nempty\nnone\nalso none'
    output_is $'one 1\nx\nalso none missing'
}

@test "cat --part: a process that waits for an answer gets it, though names of others came behind" {
    make_archive
    mkfifo names
    sb cat --part=1/3 --batch -T names a.barecat >answers &
    exec 7>names
    printf 'one\na.txt\n' >&7
    for ((try = 0; try < 600; try++)); do
        [[ $(<answers) == $'one 1\nx' ]] && break
        sleep 0.05
    done
    [[ $(<answers) == $'one 1\nx' ]]
    exec 7>&-
    wait
}

@test "cat --part=auto: an array of jobs" {
    make_numbers 8
    run_ok env SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=7 \
        SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=4 "$SHARDBOX" cat --part=auto --frame=line n.bagz
    output_is $'4\n5'
    run_fail 2 env SLURM_ARRAY_TASK_ID=5 "$SHARDBOX" cat --part=auto n.bagz
    stderr_is 'shardbox cat: --part: SLURM_ARRAY_TASK_MIN is not set in the environment, although SLURM_ARRAY_TASK_ID is'
}
