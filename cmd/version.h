/* Which version of the program this is. */
#ifndef CMD_VERSION_H
#define CMD_VERSION_H

#define VERSION "0.1.0"

#endif
