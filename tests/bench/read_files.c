/*
 * read_files DIR THREADS PASSES: reads whole files whose names below DIR come on standard input, a
 * line each, from several threads; for each pass over all of them prints the seconds that it took.
 * Exit status 1 when a file cannot be read.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 131072

static char **names;
static size_t count;
static atomic_size_t next;
static atomic_bool failed;
static int dir;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void read_one(const char *name, char *block)
{
    int fd = openat(dir, name, O_RDONLY);
    ssize_t got = -1;

    while (fd >= 0 && (got = read(fd, block, BLOCK)) > 0)
        ;
    if (fd >= 0)
        close(fd);
    if (got >= 0)
        return;
    perror(name);
    failed = true;
}

static void *read_all(void *argument)
{
    char *block = malloc(BLOCK);
    size_t i;

    (void)argument;
    while (block && (i = next++) < count)
        read_one(names[i], block);
    free(block);
    return NULL;
}

static void read_names(void)
{
    size_t capacity = 0, size = 0;
    char *line = NULL, **more;
    ssize_t length;

    while ((length = getline(&line, &size, stdin)) > 0) {
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        if (count == capacity) {
            capacity = capacity * 2 + 1024;
            more = realloc(names, capacity * sizeof(*names));
            if (!more)
                exit(1);
            names = more;
        }
        names[count] = strdup(line);
        if (!names[count++])
            exit(1);
    }
    free(line);
}

static double time_pass(unsigned threads)
{
    pthread_t *started = calloc(threads, sizeof(*started));
    double began = now();

    next = 0;
    for (unsigned i = 0; started && i < threads; i++) {
        if (pthread_create(&started[i], NULL, read_all, NULL) != 0)
            exit(1);
    }
    for (unsigned i = 0; started && i < threads; i++)
        pthread_join(started[i], NULL);
    free(started);
    return now() - began;
}

int main(int argc, char **argv)
{
    unsigned threads = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    int passes = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0;

    if (threads == 0 || passes == 0 || (dir = open(argv[1], O_RDONLY | O_DIRECTORY)) < 0) {
        fprintf(stderr, "usage: read_files DIR THREADS PASSES <NAMES\n");
        return 2;
    }
    read_names();
    for (int pass = 0; pass < passes; pass++)
        printf("%.6f\n", time_pass(threads));
    close(dir);
    return failed ? 1 : 0;
}
