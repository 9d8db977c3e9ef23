/* Which version of the program this is, and what is built in. */
#ifndef SB_CMD_UI_VERSION_H
#define SB_CMD_UI_VERSION_H

#define VERSION "0.1.0"

/* To stdout: the program and the libraries that it runs with, a line each. */
void version_print(void);

/* An object: version; schema, [major, minor] of the archives that it writes; libc, with glibc and
 * static; libraries, each with its version; codecs; formats, each with name, reads and writes. */
void version_print_json(void);

#endif
