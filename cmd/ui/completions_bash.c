#include "ui/completions.h"
#include "ui/output.h"

static const char functions[] =
    "\n"
    "# Sets REPLY to a word as the shell will pass it on.\n"
    "_shardbox_unquote() {\n"
    "    case $1 in\n"
    "    \\'*) REPLY=${1:1} REPLY=${REPLY%\\'} ;;\n"
    "    \\\"*) REPLY=${1:1} REPLY=${REPLY%\\\"} ;;\n"
    "    *)\n"
    "        # shellcheck disable=SC2162 # the backslashes are what is to go\n"
    "        IFS= read REPLY <<<\"$1\"\n"
    "        ;;\n"
    "    esac\n"
    "    case $REPLY in\n"
    "    \\~/*) REPLY=$HOME/${REPLY:2} ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "# Sets words to the given ones, with those joined that bash split at '=' and ':'.\n"
    "_shardbox_join_words() {\n"
    "    local before=$1 word\n"
    "    words=(\"$1\")\n"
    "    for word in \"${@:2}\"; do\n"
    "        case $before/$word in\n"
    "        [=:]/* | */[=:]) words[${#words[@]} - 1]+=$word ;;\n"
    "        *) words+=(\"$word\") ;;\n"
    "        esac\n"
    "        before=$word\n"
    "    done\n"
    "}\n"
    "\n"
    "# One candidate for the word that begins with lead and typed. Bash replaces all but `strip` "
    "of it.\n"
    "_shardbox_add() {\n"
    "    local word=$lead$1\n"
    "    [[ $1 == \"$typed\"* ]] && COMPREPLY+=(\"${word:strip}\")\n"
    "}\n"
    "\n"
    "# Quotes the candidates as the word that is typed is. Bash would leave a $ or ` of a name as\n"
    "# it is if no file has that name, and run what it says. A bash that cannot leave the quoting\n"
    "# to us gets no such names.\n"
    "_shardbox_quote() {\n"
    "    local i word\n"
    "    if ! compopt -o noquote 2>/dev/null && ((BASH_VERSINFO[0] >= 4)); then\n"
    "        for i in \"${!COMPREPLY[@]}\"; do\n"
    "            [[ ${COMPREPLY[i]} != *[\\$\\`]* ]] || unset \"COMPREPLY[$i]\"\n"
    "        done\n"
    "        return\n"
    "    fi\n"
    "    for i in \"${!COMPREPLY[@]}\"; do\n"
    "        word=${COMPREPLY[i]}\n"
    "        case ${COMP_WORDS[COMP_CWORD]} in\n"
    "        \\'*) word=${word//\\'/\\'\\\\\\'\\'} ;;\n"
    "        \\\"*)\n"
    "            word=${word//\\\\/\\\\\\\\}\n"
    "            word=${word//\\\"/\\\\\\\"}\n"
    "            word=${word//\\$/\\\\\\$}\n"
    "            word=${word//\\`/\\\\\\`}\n"
    "            ;;\n"
    "        *) printf -v word %q \"$word\" ;;\n"
    "        esac\n"
    "        COMPREPLY[i]=$word\n"
    "    done\n"
    "}\n"
    "\n"
    "_shardbox_add_files() {\n"
    "    local found\n"
    "    while IFS= read -r found; do\n"
    "        [[ $found == *-shard-[0-9][0-9][0-9][0-9][0-9] ]] || _shardbox_add \"$found\"\n"
    "    done < <(compgen \"$1\" -- \"$typed\")\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    _shardbox_quote\n"
    "}\n"
    "\n"
    "# Names in the container: path, row or array. Of an option's value it may follow.\n"
    "_shardbox_add_names() {\n"
    "    local found what=$1\n"
    "    if [[ ! $archive ]]; then\n"
    "        wanted=\n"
    "        _shardbox_join_words \"${COMP_WORDS[@]:COMP_CWORD + 1}\"\n"
    "        _shardbox_scan \"${words[@]}\"\n"
    "    fi\n"
    "    while IFS= read -r -d '' found; do\n"
    "        _shardbox_add \"$found\"\n"
    "    done < <(\"$program\" --complete \"${passed[@]}\" -- \"$what\" \"$archive\" \"$typed\" "
    "2>/dev/null)\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    [[ ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null\n"
    "    _shardbox_quote\n"
    "}\n"
    "\n"
    "_shardbox_add_words() {\n"
    "    local word\n"
    "    for word in $1; do\n"
    "        _shardbox_add \"$word\"\n"
    "    done\n"
    "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
    "}\n"
    "\n"
    "# Candidates for one word, by what it is.\n"
    "_shardbox_add_all() {\n"
    "    case $1 in\n"
    "    file | archive) _shardbox_add_files -f ;;\n"
    "    directory) _shardbox_add_files -d ;;\n"
    "    path | row | array) _shardbox_add_names \"$1\" ;;\n"
    "    words:*) _shardbox_add_words \"${1#words:}\" ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "# Goes through words of the line: sets count to the number of operands, archive to "
    "the\n"
    "# first of them, wanted to what an option's value should be, ended after a \"--\", "
    "passed to\n"
    "# the options that say how the archive is read.\n"
    "_shardbox_scan() {\n"
    "    local word option='' i\n"
    "    for word in \"$@\"; do\n"
    "        if [[ $wanted ]]; then\n"
    "            wanted=\n"
    "            _shardbox_pass \"$option\" \"$word\"\n"
    "        elif [[ $ended || $word != -?* ]]; then\n"
    "            ((count++)) || { _shardbox_unquote \"$word\" && archive=$REPLY; }\n"
    "        elif [[ $word == -- ]]; then\n"
    "            ended=1\n"
    "        elif [[ $word == --*=* ]]; then\n"
    "            _shardbox_pass \"${word%%=*}\" \"${word#*=}\"\n"
    "        elif [[ $word == --* ]]; then\n"
    "            option=$word\n"
    "            _shardbox_value \"$command\" \"$word\"\n"
    "            [[ $wanted ]] || _shardbox_pass \"$word\" ''\n"
    "        else\n"
    "            option=\n"
    "            for ((i = 1; i < ${#word}; i++)); do\n"
    "                _shardbox_value \"$command\" \"-${word:i:1}\"\n"
    "                [[ ! $wanted ]] || break\n"
    "            done\n"
    "            ((i + 1 >= ${#word})) || wanted=\n"
    "        fi\n"
    "    done\n"
    "}\n"
    "\n"
    "_shardbox() {\n"
    "    local program typed command REPLY lead='' wanted='' archive='' ended='' count=0 strip=0\n"
    "    local words options first others passed=()\n"
    "    COMPREPLY=()\n"
    "    _shardbox_join_words \"${COMP_WORDS[@]:1:COMP_CWORD}\"\n"
    "    _shardbox_unquote \"${COMP_WORDS[COMP_CWORD]}\"\n"
    "    case $REPLY in\n"
    "    [=:]) strip=0 ;;\n"
    "    *) strip=${#REPLY} ;;\n"
    "    esac\n"
    "    _shardbox_unquote \"${words[-1]}\"\n"
    "    typed=$REPLY\n"
    "    strip=$((${#typed} - strip))\n"
    "    _shardbox_unquote \"${COMP_WORDS[0]}\"\n"
    "    program=$REPLY\n"
    "\n"
    "    case $program in\n"
    "    shardbox-* | */shardbox-*)\n"
    "        command=${program##*shardbox-}\n"
    "        program=${program%\"-$command\"}\n"
    "        ;;\n"
    "    *)\n"
    "        if ((${#words[@]} == 1)); then\n"
    "            _shardbox_add_words \"$_shardbox_commands --help --list --version\"\n"
    "            return\n"
    "        fi\n"
    "        command=${words[0]}\n"
    "        words=(\"${words[@]:1}\")\n"
    "        ;;\n"
    "    esac\n"
    "\n"
    "    _shardbox_scan \"${words[@]:0:${#words[@]}-1}\"\n"
    "    _shardbox_table \"$command\"\n"
    "    if [[ $wanted ]]; then\n"
    "        _shardbox_add_all \"$wanted\"\n"
    "    elif [[ ! $ended && $typed == --*=* ]]; then\n"
    "        lead=${typed%%=*}=\n"
    "        typed=${typed#*=}\n"
    "        _shardbox_value \"$command\" \"${lead%=}\"\n"
    "        [[ $wanted ]] || _shardbox_value \"$command\" \"$lead\"\n"
    "        _shardbox_add_all \"$wanted\"\n"
    "    elif [[ ! $ended && $typed == -* ]]; then\n"
    "        _shardbox_add_words \"$options\"\n"
    "    elif ((count == 0)); then\n"
    "        _shardbox_add_all \"$first\"\n"
    "    else\n"
    "        _shardbox_add_all \"$others\"\n"
    "    fi\n"
    "}\n"
    "\n";

/* "-T --files-from= -0 --null": what can follow a '-'. */
static void print_option_words(const struct option *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].letter)
            output_format("-%c ", list[i].letter);
        output_format("--%s%s%s", list[i].name, list[i].value && !list[i].implied ? "=" : "",
                      i + 1 < count ? " " : "");
    }
}

/* Those of take_words that begin as options do. */
static void print_own_words(const struct command *command)
{
    const char *word;

    for (size_t i = 0; command->word && (word = command->word(i)) != NULL; i++) {
        if (word[0] == '-')
            output_format(" %s", word);
    }
}

static void print_table(void)
{
    static struct option list[OPTIONS_MAX];

    output_text("# What a command takes: its options, its first operand and the others.\n"
                "_shardbox_table() {\n"
                "    options='' first=none others=none\n"
                "    case $1 in\n");
    for (size_t i = 0; commands[i]; i++) {
        struct completion_kinds kinds = completion_kinds(commands[i]->operands);

        output_format("    %s)\n        options='", commands[i]->name);
        print_option_words(list, options_list(commands[i], list));
        print_own_words(commands[i]);
        output_format("'\n        first=%s others=%s\n        ;;\n", kinds.first, kinds.others);
    }
    output_text("    help) first=\"words:$_shardbox_commands\" ;;\n"
                "    esac\n}\n\n");
}

static void print_value(const char *command, const struct option *option)
{
    /* A value that may be left out never is the next word. */
    output_format("    %s:--%s%s", command, option->name, option->implied ? "=" : "");
    if (option->letter)
        output_format(" | %s:-%c", command, option->letter);
    if (!option->choices) {
        output_format(") wanted='%s' ;;\n", completion_kinds(option->completes).first);
        return;
    }
    output_text(") wanted='words:");
    for (size_t i = 0; option->choices[i]; i++)
        output_format("%s%s", i > 0 ? " " : "", option->choices[i]);
    output_text("' ;;\n");
}

static void print_values(void)
{
    static struct option list[OPTIONS_MAX];

    output_text("# What the value of an option is; nothing for options without one.\n"
                "_shardbox_value() {\n"
                "    wanted=\n"
                "    case $1:$2 in\n");
    for (size_t i = 0; commands[i]; i++) {
        size_t count = options_list(commands[i], list);

        for (size_t j = 0; j < count; j++) {
            if (list[j].value)
                print_value(commands[i]->name, &list[j]);
        }
    }
    output_text("    esac\n}\n\n");
}

static void print_passed(void)
{
    const char *name;

    output_text("# Keeps an option that says how the archive is read.\n"
                "_shardbox_pass() {\n"
                "    case $1 in\n");
    for (size_t i = 0; (name = completions_passed(i)) != NULL; i++)
        output_format("%s--%s", i > 0 ? " | " : "    ", name);
    output_text(")\n"
                "        _shardbox_unquote \"$2\"\n"
                "        passed+=(\"$1${REPLY:+=$REPLY}\")\n"
                "        ;;\n"
                "    esac\n}\n\n");
}

void completions_bash(void)
{
    output_text("# bash completion for shardbox, printed by: shardbox --completions=bash\n"
                "# shellcheck shell=bash\n\n"
                "_shardbox_commands='help");
    for (size_t i = 0; commands[i]; i++)
        output_format(" %s", commands[i]->name);
    output_text("'\n\n");
    print_table();
    print_values();
    print_passed();
    output_text(functions);
    output_text("complete -F _shardbox shardbox");
    for (size_t i = 0; commands[i]; i++)
        output_format(" shardbox-%s", commands[i]->name);
    output_char('\n');
}
