# Behind scale-results.awk: curves as an SVG, both axes logarithmic. -v what=time or what=memory.
# All colours are of middle brightness, and can be read on white and on black.

function log10(value) {
    return log(value) / log(10)
}

function x_of(files) {
    return left + (log10(files) - low_x) / (high_x - low_x) * (right - left)
}

function y_of(value) {
    return bottom - (log10(value) - low_y) / (high_y - low_y) * (bottom - top)
}

function value_of(key, files) {
    return what == "memory" ? kib[key, files] * 1024 / 1e6 : seconds[key, files]
}

# Only of what was measured at every size.
function curve(key, name, i) {
    for (i = 1; i <= count; i++)
        if (value_of(key, sizes[i]) <= 0)
            return
    keys[++curves] = key
    names[curves] = name
}

function choose_curves() {
    curve("index", "index of all files")
    curve("merge-symlink", "merge-symlink")
    curve("remove-all", "rm -r")
    curve("ls-all", "ls -lR")
    curve("verify-quick", "verify --quick")
    curve("find", "find")
    curve("statistics", "statistics rebuilt")
    curve("append", "1,000 files added")
    curve("cat-1000", "cat of 1,000")
    curve("cat-one", "cat of one")
}

# Whole decades around all values.
function choose_ranges(i, k, decade) {
    low_x = log10(sizes[1])
    high_x = log10(sizes[count])
    if (high_x <= low_x)
        high_x = low_x + 1
    low_y = 99
    high_y = -99
    for (k = 1; k <= curves; k++)
        for (i = 1; i <= count; i++) {
            decade = log10(value_of(keys[k], sizes[i]))
            if (decade < low_y)
                low_y = decade
            if (decade > high_y)
                high_y = decade
        }
    low_y = floor(low_y)
    high_y = -floor(-high_y)
}

function floor(value, whole) {
    whole = int(value)
    return whole > value ? whole - 1 : whole
}

function text(x, y, anchor, words) {
    printf "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y,
        anchor, words
}

function grid(x1, y1, x2, y2) {
    printf "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1, y1, x2, y2
}

function unit_of(decade) {
    if (what == "memory")
        return 10 ^ decade " MB"
    return decade < 0 ? 10 ^ (decade + 3) " ms" : 10 ^ decade " s"
}

function draw_axes(i, decade) {
    for (decade = low_y; decade <= high_y; decade++) {
        grid(left, y_of(10 ^ decade), right, y_of(10 ^ decade))
        text(left - 8, y_of(10 ^ decade) + 4, "end", unit_of(decade))
    }
    for (i = 1; i <= count; i++) {
        grid(x_of(sizes[i]), top, x_of(sizes[i]), bottom)
        text(x_of(sizes[i]), bottom + 20, "middle", amount(sizes[i]))
    }
    text((left + right) / 2, bottom + 42, "middle", "files in the archive")
}

# Names stand beside the ends of their curves, pushed apart where those are close together.
function place_names(k, j, place, gap) {
    gap = 17
    for (k = 1; k <= curves; k++) {
        place = y_of(value_of(keys[k], sizes[count])) + 4
        for (j = k - 1; j > 0 && name_y[order[j]] > place; j--)
            order[j + 1] = order[j]
        order[j + 1] = k
        name_y[k] = place
    }
    for (k = 2; k <= curves; k++)
        if (name_y[order[k]] < name_y[order[k - 1]] + gap)
            name_y[order[k]] = name_y[order[k - 1]] + gap
    if (name_y[order[curves]] > bottom + 4)
        name_y[order[curves]] = bottom + 4
    for (k = curves - 1; k > 0; k--)
        if (name_y[order[k]] > name_y[order[k + 1]] - gap)
            name_y[order[k]] = name_y[order[k + 1]] - gap
}

function draw_curve(k, i, y) {
    printf "<g fill=\"%s\" stroke=\"%s\"><polyline fill=\"none\" stroke-width=\"2\" points=\"",
        colours[k], colours[k]
    for (i = 1; i <= count; i++)
        printf "%.1f,%.1f ", x_of(sizes[i]), y_of(value_of(keys[k], sizes[i]))
    print "\"/>"
    for (i = 1; i <= count; i++)
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", x_of(sizes[i]),
            y_of(value_of(keys[k], sizes[i]))
    y = y_of(value_of(keys[k], sizes[count]))
    printf "<path d=\"M%.1f,%.1f L%.1f,%.1f\"/>\n", right + 4, y, right + 16, name_y[k] - 4
    printf "<text stroke=\"none\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", right + 20, name_y[k],
        names[k]
    print "</g>"
}

END {
    left = 70
    right = 560
    top = 20
    bottom = 440
    split("#d1495b #b5651d #8f6bd1 #2e86ab #3a9e5c #c98a00 #d05fa0 #1a9c9c #7a7f87 #5b7bd6", colours, " ")
    choose_curves()
    if (!count || !curves) {
        print "scale-report: no figures" >"/dev/stderr"
        exit 1
    }
    choose_ranges()
    place_names()
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 730 500\" font-family=\"sans-serif\" font-size=\"13\">"
    print "<style>"
    print ".axis { fill: #768390 } .grid { stroke: #768390; stroke-opacity: 0.3 }"
    print "</style>"
    draw_axes()
    for (k = 1; k <= curves; k++)
        draw_curve(k)
    print "</svg>"
}
