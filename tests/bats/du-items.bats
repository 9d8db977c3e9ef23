# shardbox du of Syrah files: what each array takes, and what is no array.

load helper
load syrah

make_two() {
    make_syrah a.syr '{"image": ("uint8", [1] * 3000, [2, 3]), "label": ("int64", [7], [8])}' "$@"
}

# Bytes of the metadata and the header.
metadata() {
    echo $(($(stat -c %s a.syr) - 3018))
}

@test "items and bytes of each array, of the metadata, and of all" {
    make_two
    run_ok sb du a.syr
    output_is "       items           bytes dtype    array
           2            3002 uint8    image
           2              16 int64    label
           -             $(metadata) -        metadata
           2            $(stat -c %s a.syr) -        total"
    run_ok sb du -s a.syr
    output_is "       items           bytes dtype    array
           2            $(stat -c %s a.syr) -        total"
    run_ok sb du -h --array=image a.syr
    output_is '       items  bytes dtype    array
           2   3.0K uint8    image
           2   3.0K -        total'
}

@test "--json has an object a line" {
    make_two
    run_ok sb du --json a.syr
    output_is "{\"array\":\"image\",\"dtype\":\"uint8\",\"items\":2,\"bytes\":3002}
{\"array\":\"label\",\"dtype\":\"int64\",\"items\":2,\"bytes\":16}
{\"metadata\":true,\"bytes\":$(metadata)}
{\"total\":true,\"items\":2,\"bytes\":$(stat -c %s a.syr)}"
}

@test "bytes that no array has are said, and arrays that lie where they cannot are named" {
    make_two 'data += b"junk"' 'sizes["label"][1] = 99999'
    run_fail 1 sb du --json a.syr
    output_is "{\"array\":\"image\",\"dtype\":\"uint8\",\"items\":2,\"bytes\":3002}
{\"array\":\"label\",\"dtype\":\"int64\",\"items\":1,\"bytes\":8}
{\"unused\":true,\"bytes\":12}
{\"metadata\":true,\"bytes\":$(($(stat -c %s a.syr) - 3022 ))}
{\"total\":true,\"items\":2,\"bytes\":$(stat -c %s a.syr)}"
    stderr_is "shardbox du: a.syr: item 1, array 'label': lies outside the data section (offset 3032, 99999 bytes)"
    run_ok sb du -s --array=image a.syr
}

@test "several files are counted as one, also from a pipe" {
    make_two
    run_ok sb du --json a.syr,a.syr
    output_has '{"array":"image","dtype":"uint8","items":4,"bytes":6004}'
    output_has "{\"total\":true,\"items\":4,\"bytes\":$((2 * $(stat -c %s a.syr)))}"
    run_ok sb du --json -s --from=syrah - < <(cat a.syr)
    output_is "{\"total\":true,\"items\":2,\"bytes\":$(stat -c %s a.syr)}"
}

@test "options of other containers are refused" {
    make_two
    run_fail 2 sb du -a a.syr
    stderr_has 'a.syr: is a Syrah file, which --all does not go with'
    run_fail 2 sb du a.syr 1
    stderr_has 'a.syr: is a Syrah file, and has no PATHs'
    run_fail 2 sb du --array=nix a.syr
    stderr_is "shardbox du: a.syr: has no array 'nix'"
}

@test "--csv has the columns of all objects" {
    make_two
    csv_is_json du a.syr
}
