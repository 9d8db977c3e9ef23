/* Which version of the program this is. */
#ifndef SB_CMD_UI_VERSION_H
#define SB_CMD_UI_VERSION_H

#define VERSION "0.1.0"

#endif
