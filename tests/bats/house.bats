#!/usr/bin/env bats
# scripts/house says what breaks the plan of the house, where, and what to do.

load helper

@test "each rule that is broken is named, with its place" {
    command -v git >/dev/null && git -C "$PROJECT" rev-parse HEAD >/dev/null 2>&1 || skip "no git here"
    mkdir "$BATS_TEST_TMPDIR/copy" && cd "$BATS_TEST_TMPDIR/copy" || return
    (cd "$PROJECT" && git ls-files -z lib cmd scripts | xargs -0 cp --parents -t "$OLDPWD")
    echo '#include "store/store.h"' >>lib/core/glob.c
    echo '#include "store/zip/impl.h"' >>lib/store/tar/raw.c
    echo 'int is_tar(int kind) { return kind == SB_TAR; }' >>cmd/rm.c
    sed -i 's/SB_CORE_GLOB_H/GLOB_H/' lib/core/glob.h
    { echo 'void longer(void)' && echo '{' && yes '    x();' | head -61 && echo '}'; } >>cmd/mv.c
    touch lib/store/zip/more{1..60}.c
    git init -q . && git add -A
    run_fail 1 scripts/house
    stderr_has 'floors: lib/core/glob.c includes store/store.h: calls go down only'
    stderr_has "doors: lib/store/tar/raw.c includes store/zip/impl.h, which is no door of store/zip; include the folder's own header"
    stderr_has ' names SB_TAR; ask what the store can do'
    stderr_has 'guards: lib/core/glob.h: its guard is called SB_CORE_GLOB_H'
    stderr_has 'a function of 61 lines'
    stderr_has 'lib/store/zip has'
}
