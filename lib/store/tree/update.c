#include "store/tree/sink_impl.h"

#include "core/crc32c.h"
#include "core/io.h"
#include "core/time.h"
#include "store/tree/read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_AS_IT_IS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* What the entry can make of an object: what it lets alone is not compared. */
static struct sb_entry wanted_of(const struct sb_entry *entry,
                                 const struct sb_attributes *attributes)
{
    struct sb_entry wanted = *entry;

    wanted.has &= SB_HAS_MTIME;
    if (attributes->mode_known && entry->type != SB_LINK)
        wanted.has |= SB_HAS_MODE;
    if (attributes->preserve && attributes->uid != (uid_t)-1)
        wanted.has |= SB_HAS_UID;
    if (attributes->preserve && attributes->gid != (gid_t)-1)
        wanted.has |= SB_HAS_GID;
    wanted.mode = attributes->mode;
    wanted.uid = attributes->uid;
    wanted.gid = attributes->gid;
    return wanted;
}

unsigned sb_tree_attributes_differ(const struct stat *st, const struct sb_entry *entry,
                                   const struct sb_attributes *attributes)
{
    struct sb_entry wanted = wanted_of(entry, attributes);
    struct sb_entry there = sb_tree_entry_of(st);

    /* A directory inherits its set-group-id bit, which stays unless all bits are set. */
    if (!attributes->preserve)
        there.mode &= entry->type == SB_DIR ? ~(mode_t)S_ISGID : ~(mode_t)0;
    if ((entry->has & SB_HAS_MTIME) && sb_target_compare_times(st, entry->mtime_ns) == 0)
        there.mtime_ns = entry->mtime_ns;
    return sb_change_between(&wanted, &there);
}

/* The file that was looked at, opened; -1: it cannot be read, or is another by now. */
static int open_same(int dir_fd, const char *component, const struct stat *st)
{
    CLEANUP(sb_closep) int fd = openat(dir_fd, component, OPEN_AS_IT_IS);
    struct stat now;

    if (fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino &&
        S_ISREG(now.st_mode))
        return TAKE_FD(fd);
    return -1;
}

static enum sb_code sum_block(void *context, const void *data, size_t size)
{
    uint32_t *sum = context;

    *sum = sb_crc32c_block(*sum, data, size);
    return SB_OK;
}

/* The mode last: another owner takes set-id bits away. */
static enum sb_code set_file(int fd, unsigned change, const struct sb_attributes *attributes)
{
    if (change & (SB_CHANGE_UID | SB_CHANGE_GID) && fchown(fd, attributes->uid, attributes->gid))
        return sb_fail_errno(errno, "its owner cannot be set");
    if (change & (SB_CHANGE_MODE | SB_CHANGE_UID | SB_CHANGE_GID) && attributes->mode_known &&
        fchmod(fd, attributes->mode))
        return sb_fail_errno(errno, "its mode cannot be set");
    if (change & SB_CHANGE_TIME && futimens(fd, attributes->times))
        return sb_fail_errno(errno, "its time cannot be set");
    return SB_OK;
}

static enum sb_code update_link(const struct sb_tree_sink_options *how, int dir_fd,
                                const char *component, const char *link_target,
                                const struct sb_attributes *attributes, enum sb_decision *decision,
                                unsigned change)
{
    *decision = SB_WRITE_REPLACE;
    if (!link_target || !sb_target_is_link_to(dir_fd, component, link_target))
        return SB_OK;
    *decision = SB_LEAVE;
    if (how->dry_run)
        return SB_OK;
    if (change & (SB_CHANGE_UID | SB_CHANGE_GID) &&
        fchownat(dir_fd, component, attributes->uid, attributes->gid, AT_SYMLINK_NOFOLLOW))
        return sb_fail_errno(errno, "its owner cannot be set");
    if (change & SB_CHANGE_TIME &&
        utimensat(dir_fd, component, attributes->times, AT_SYMLINK_NOFOLLOW))
        return sb_fail_errno(errno, "its time cannot be set");
    return SB_OK;
}

static enum sb_code update_file(const struct sb_tree_sink_options *how, int dir_fd,
                                const char *component, const struct stat *st,
                                const struct sb_entry *entry,
                                const struct sb_attributes *attributes, enum sb_decision *decision,
                                unsigned change)
{
    CLEANUP(sb_closep) int fd = -1;
    /* Times are compared as the file system may keep them, in whole seconds; but whether bytes have
     * to be compared, the fraction decides. */
    bool fraction = (entry->has & SB_HAS_MTIME) &&
                    st->st_mtim.tv_nsec != sb_time_split(entry->mtime_ns).tv_nsec;
    unsigned time = fraction ? SB_CHANGE_TIME : 0;
    unsigned sets = (change | time) & SB_CHANGE_VALUES & ~(unsigned)SB_CHANGE_SIZE;
    bool sum = how->checksum || (!how->size_only && ((change | time) & SB_CHANGE_TIME));
    uint32_t own_sum = 0;
    int64_t total = 0;
    enum sb_code code;

    *decision = SB_WRITE_REPLACE;
    if (change & SB_CHANGE_SIZE || (sum && !(entry->has & SB_HAS_CRC)))
        return SB_OK;
    *decision = SB_LEAVE;
    if (!sum && !sets)
        return SB_OK;
    fd = open_same(dir_fd, component, st);
    if (fd < 0) {
        *decision = SB_WRITE_REPLACE;
        return SB_OK;
    }
    if (sum) {
        /* What cannot be read has other bytes. */
        code = sb_feed_file(fd, st, entry->size, sum_block, &own_sum, &total, entry->path);
        if (code == SB_INTERRUPT || code == SB_NOMEM)
            return code;
        if (code || total != entry->size || own_sum != entry->crc32c) {
            *decision = SB_WRITE_REPLACE;
            return SB_OK;
        }
    }
    return sets && !how->dry_run ? set_file(fd, sets, attributes) : SB_OK;
}

enum sb_code sb_tree_update(const struct sb_tree_sink_options *how, int dir_fd,
                            const char *component, const struct sb_entry *entry,
                            const char *link_target, const struct sb_attributes *attributes,
                            enum sb_decision *decision, unsigned *change)
{
    struct stat st;

    *decision = SB_WRITE_NEW;
    *change = SB_CHANGE_NEW;
    if (fstatat(dir_fd, component, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "cannot be looked up");
    if (S_ISDIR(st.st_mode))
        return sb_fail(SB_EXISTS, "a directory is in its place");
    TRY(sb_target_spare(how->own, dir_fd, component, &st));
    *change = sb_tree_attributes_differ(&st, entry, attributes);
    if (entry->type == SB_LINK)
        *change &= ~(unsigned)SB_CHANGE_SIZE;
    *decision = SB_WRITE_REPLACE;
    if (*change & SB_CHANGE_TYPE || !(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))) {
        *change |= SB_CHANGE_TYPE;
        return SB_OK;
    }
    if (entry->type == SB_LINK)
        return update_link(how, dir_fd, component, link_target, attributes, decision, *change);
    return update_file(how, dir_fd, component, &st, entry, attributes, decision, *change);
}
