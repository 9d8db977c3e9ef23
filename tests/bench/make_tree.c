/*
 * make_tree DIR COUNT SIZE: a data set of COUNT files of about SIZE bytes (from half to one and a
 * half times that), 500 to a directory, with contents that do not compress. The same arguments give
 * the same tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_PER_DIRECTORY 500

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int fail(const char *what)
{
    fprintf(stderr, "make_tree: %s: %s\n", what, strerror(errno));
    return 1;
}

static int make_directory(const char *path)
{
    return mkdir(path, 0755) && errno != EEXIST ? fail(path) : 0;
}

static int make_file(const char *path, const char *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0)
        return fail(path);
    while (size > 0) {
        ssize_t done = write(fd, data, size);

        if (done < 0) {
            close(fd);
            return fail(path);
        }
        data += done;
        size -= (size_t)done;
    }
    return close(fd) ? fail(path) : 0;
}

static int make_files(const char *dir, unsigned long count, size_t mean)
{
    size_t words = (mean + mean / 2) / sizeof(uint64_t) + 1;
    uint64_t *data = malloc(words * sizeof(*data));
    uint64_t state = 88172645463325252U;
    char path[4096];
    int failed = data ? 0 : fail("memory");

    for (unsigned long i = 0; i < count && !failed; i++) {
        unsigned long group = i / FILES_PER_DIRECTORY;
        size_t size = mean / 2 + (size_t)(next_random(&state) % (mean + 1));

        for (size_t word = 0; word < words; word++)
            data[word] = next_random(&state);
        if (i % FILES_PER_DIRECTORY == 0) {
            snprintf(path, sizeof(path), "%s/part_%04lu", dir, group);
            failed = make_directory(path);
        }
        snprintf(path, sizeof(path), "%s/part_%04lu/sample_%08lu.bin", dir, group, i);
        failed = failed || make_file(path, (const char *)data, size);
    }
    free(data);
    return failed;
}

int main(int argc, char **argv)
{
    unsigned long count, mean;

    if (argc != 4) {
        fprintf(stderr, "usage: make_tree DIR COUNT SIZE\n");
        return 2;
    }
    count = strtoul(argv[2], NULL, 10);
    mean = strtoul(argv[3], NULL, 10);
    return make_directory(argv[1]) || make_files(argv[1], count, mean);
}
