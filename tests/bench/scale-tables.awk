# Behind scale-results.awk: the tables of docs/scale.md; with -v short=1, the one of README.md.

function span(value) {
    if (value <= 0)
        return "–"
    if (value < 0.1)
        return sprintf("%.1f ms", value * 1000)
    if (value < 120)
        return sprintf("%.3g s", value)
    return value < 7200 ? sprintf("%.0f min", value / 60) : sprintf("%.1f h", value / 3600)
}

function megabytes(value) {
    return value <= 0 ? "–" : sprintf("%.0f", value * 1024 / 1e6)
}

function heading(what, first, i, rule) {
    printf "| %s |", what
    rule = "| --- |"
    for (i = first; i <= count; i++) {
        printf " %s |", amount(sizes[i])
        rule = rule " --- |"
    }
    print short ? "" : " a billion, worked out |"
    print short ? rule : rule " --- |"
}

function times(what, key, first, i) {
    printf "| %s |", what
    for (i = first; i <= count; i++)
        printf " %s |", span(seconds[key, sizes[i]])
    print short ? "" : " " span(grown(seconds, key, 1e9, 2)) " |"
}

function memory(what, key, i) {
    printf "| %s |", what
    for (i = 1; i <= count; i++)
        printf " %s |", megabytes(kib[key, sizes[i]])
    print " " megabytes(grown(kib, key, 1e9, 1)) " |"
}

# No row for what was not measured.
function goal(what, value, limit, unit) {
    if (value > 0)
        printf "| %s | ≤ %s%s | %.3g%s | %s |\n", what, limit, unit, value, unit,
            value <= limit ? "yes" : "no"
}

function all_times(i) {
    for (i = 1; i <= rows; i++)
        times(row_what[i], row_key[i], 1)
}

function all_memory(i) {
    for (i = 1; i <= rows; i++)
        memory(row_what[i], row_key[i])
}

function most_memory(files, i, most) {
    for (i = 1; i <= rows; i++)
        if (kib[row_key[i], files] > most)
            most = kib[row_key[i], files]
    return most * 1024 / 1e6
}

function bytes_a_file(i) {
    printf "| bytes of index for each file |"
    for (i = short ? 2 : 1; i <= count; i++)
        printf " %.0f |", seconds["bytes", sizes[i]] / sizes[i]
    print short ? "" : " " sprintf("%.0f", grown(seconds, "bytes", 1e9, 1) / 1e9) " |"
}

function row(key, what) {
    row_key[++rows] = key
    row_what[rows] = what
}

function all_rows() {
    row("index", "the index of all files made")
    row("append", "1,000 files added")
    row("cat-one", "`cat` of one file")
    row("cat-1000", "`cat` of 1,000 files at random")
    row("ls-dir", "`ls -l` of a directory of 1,000")
    row("du-dir", "`du` of 100 directories")
    row("du-all", "`du -s` of everything")
    row("find", "`find --name` over everything")
    row("ls-all", "`ls -lR` of everything")
    row("verify-quick", "`verify --quick`")
    row("statistics", "tree statistics rebuilt")
    row("merge-symlink", "`merge-symlink` of two halves")
    row("diff-quick", "`diff --quick` of everything")
    row("defrag-plan", "`defrag -n`")
    row("split-symlink", "`split --symlink` into two")
    row("move", "`mv` of a directory of 100,000")
    row("remove-all", "`rm -r` of everything")
}

function print_short() {
    heading("files", 2)
    times("the index of all files made", "index", 2)
    times("1,000 files added", "append", 2)
    times("`cat` of one file", "cat-one", 2)
    times("`ls -l` of a directory of 1,000", "ls-dir", 2)
    times("`find --name` over everything", "find", 2)
    times("`verify --quick`", "verify-quick", 2)
    times("tree statistics rebuilt", "statistics", 2)
    bytes_a_file()
}

function print_goals(last) {
    last = sizes[count]
    print "| at " amount(last) " files | goal | measured | met |"
    print "| --- | --- | --- | --- |"
    goal("tree statistics rebuilt", seconds["statistics", last], 20, " s")
    goal("1,000 files added: time of the same at " amount(sizes[1]),
        seconds["append", last] / (seconds["append", sizes[1]] + 1e-9), 1.2, " ×")
    goal("`cat` of one file", seconds["cat-one", last] * 1000, 5, " ms")
    goal("most memory of any command", most_memory(last), 256, " MB")
    goal("index, for each file", seconds["bytes", last] / last, 190, " bytes")
}

END {
    all_rows()
    if (short) {
        print_short()
        exit
    }
    print conditions
    print ""
    print_goals()
    print ""
    heading("time", 1)
    all_times()
    bytes_a_file()
    print ""
    heading("most memory, MB", 1)
    all_memory()
}
