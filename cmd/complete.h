/*
 * Completion in shells: the scripts for them, and what these need to know while somebody types.
 */
#ifndef SB_CMD_COMPLETE_H
#define SB_CMD_COMPLETE_H

/* The script for "bash", "zsh" or "fish"; NULL for another shell. */
const char *completion_script(const char *shell);

/*
 * shardbox --complete INDEX WORD...: what the word of this index may become; words[0] is INDEX.
 * Returns the exit status. Prints, each ended by a NUL, a kind, what precedes the completed part of
 * the word ("--order="), and candidates for that part:
 *
 *     file, directory   none: the shell knows them
 *     names             of members, rows or columns of a container, that begin with what was typed
 *     words             maybe with a tab and a description after them; the script takes those that
 *                       begin with what was typed. An option that needs a value ends in '='
 *     none              there is nothing
 */
int complete_line(int count, char **words);

#endif
