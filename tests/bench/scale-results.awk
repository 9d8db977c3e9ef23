# Reads the lines of tests/bench/scale. At the end there are
#
#   conditions          where it was measured
#   sizes[1..count]     the numbers of files
#   seconds[key, size]  the median of the runs
#   kib[key, size]      the most memory of the runs
#
# and the functions grown() and amount().

/^# / {
    conditions = substr($0, 3)
    next
}

NF == 4 && $2 > 0 {
    if (!($2 in known)) {
        known[$2] = 1
        sizes[++count] = $2
    }
    runs[$1, $2]++
    insert($1 SUBSEP $2, runs[$1, $2], $3)
    seconds[$1, $2] = sorted[$1, $2, int((runs[$1, $2] + 1) / 2)]
    if ($4 > kib[$1, $2])
        kib[$1, $2] = $4
}

function insert(where, place, value) {
    for (; place > 1 && sorted[where, place - 1] > value + 0; place--)
        sorted[where, place] = sorted[where, place - 1]
    sorted[where, place] = value + 0
}

# What a value will be at so many files, should it go on growing as it did between two sizes: the last
# one, and the one that is `back` before it.
function grown(values, key, files, back, first, last, power) {
    first = sizes[count > back ? count - back : 1]
    last = sizes[count]
    if (values[key, first] <= 0 || values[key, last] <= 0 || first == last)
        return 0
    power = log(values[key, last] / values[key, first]) / log(last / first)
    return values[key, last] * exp(log(files / last) * (power > 0 ? power : 0))
}

# 10000 as "10 thousand"
function amount(files) {
    if (files >= 1000000000)
        return files / 1000000000 " billion"
    return files >= 1000000 ? files / 1000000 " million" : files / 1000 " thousand"
}
