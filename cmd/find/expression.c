#include "find/find.h"
#include "ui/message.h"
#include "ui/output.h"

#include <stdlib.h>

#define NESTED_MOST 1000

void find_expression_release(struct find_expression *expression)
{
    struct find_node *node, *older;

    for (node = expression->newest; node; node = older) {
        older = node->older;
        printf_format_free(node->format);
        sb_buf_release(&node->text);
        free(node);
    }
}

static struct find_node *make_node(struct find_expression *expression)
{
    struct find_node *node = calloc(1, sizeof(*node));

    if (!node) {
        message_error("out of memory");
        return NULL;
    }
    node->older = expression->newest;
    expression->newest = node;
    return node;
}

static void append(struct find_list *list, struct find_node *node)
{
    *(list->first ? &list->last->next : &list->first) = node;
    list->last = node;
}

struct find_node *find_expression_add(struct find_expression *expression, struct find_list *list)
{
    struct find_node *node = make_node(expression);

    if (node)
        append(list, node);
    return node;
}

static bool all_pass(const struct find_node *node, struct find_visit *visit)
{
    for (node = node->first; node; node = node->next) {
        if (!node->passes(node, visit))
            return false;
    }
    return true;
}

static bool one_passes(const struct find_node *node, struct find_visit *visit)
{
    for (node = node->first; node; node = node->next) {
        if (node->passes(node, visit))
            return true;
    }
    return false;
}

static bool last_passes(const struct find_node *node, struct find_visit *visit)
{
    bool passes = true;

    for (node = node->first; node; node = node->next)
        passes = node->passes(node, visit);
    return passes;
}

static bool fails(const struct find_node *node, struct find_visit *visit)
{
    return !node->first->passes(node->first, visit);
}

struct parser {
    struct find_expression *expression;
    struct find_node *at;     /* the next word */
    struct find_node *before; /* the one before it */
    int depth;
};

static struct find_node *take(struct parser *parser)
{
    struct find_node *node = parser->at;

    parser->at = node->next;
    parser->before = node;
    node->next = NULL;
    return node;
}

/* Does the next word join what is before it with more? Takes it, but no unwritten and. */
static bool goes_on(struct parser *parser, enum find_part part)
{
    if (!parser->at)
        return false;
    if (parser->at->part == part) {
        take(parser);
        return true;
    }
    return part == FIND_AND && (parser->at->part == FIND_TEST || parser->at->part == FIND_OPEN ||
                                parser->at->part == FIND_NOT);
}

/* One node for those of a list. */
static struct find_node *join(struct parser *parser, struct find_list list, find_passes *passes)
{
    struct find_node *node;

    if (list.first == list.last)
        return list.first;
    node = make_node(parser->expression);
    if (!node)
        return NULL;
    node->passes = passes;
    node->first = list.first;
    return node;
}

static struct find_node *parse_one(struct parser *parser);

/* What is joined by commas, by or, or by and; each binds closer than the one before it. */
static struct find_node *parse_joined(struct parser *parser, enum find_part part)
{
    find_passes *passes = part == FIND_COMMA ? last_passes
                          : part == FIND_OR  ? one_passes
                                             : all_pass;
    struct find_list list = {0};
    struct find_node *node;

    do {
        node = part == FIND_AND  ? parse_one(parser)
               : part == FIND_OR ? parse_joined(parser, FIND_AND)
                                 : parse_joined(parser, FIND_OR);
        if (!node)
            return NULL;
        append(&list, node);
    } while (goes_on(parser, part));
    return join(parser, list, passes);
}

static struct find_node *parse_parenthesis(struct parser *parser)
{
    struct find_node *node = parse_joined(parser, FIND_COMMA);

    if (node && (!parser->at || parser->at->part != FIND_CLOSE)) {
        message_usage("'(' is not closed; add '\\)' after what belongs into it");
        return NULL;
    }
    if (node)
        take(parser);
    return node;
}

static struct find_node *parse_not(struct parser *parser, struct find_node *node)
{
    node->first = parse_one(parser);
    node->passes = fails;
    return node->first ? node : NULL;
}

static struct find_node *parse_one(struct parser *parser)
{
    struct find_node *node = parser->at;

    if (!node) {
        message_usage("'%s': a test or an action must follow it", parser->before->word);
        return NULL;
    }
    take(parser);
    if (node->part == FIND_TEST)
        return node;
    if (node->part != FIND_OPEN && node->part != FIND_NOT) {
        message_usage("'%s': a test or an action must come before it", node->word);
        return NULL;
    }
    if (++parser->depth > NESTED_MOST) {
        message_usage("more than %d '(' and '!' within each other", NESTED_MOST);
        return NULL;
    }
    node = node->part == FIND_NOT ? parse_not(parser, node) : parse_parenthesis(parser);
    parser->depth--;
    return node;
}

static bool parse(struct find_expression *expression)
{
    struct parser parser = {.expression = expression, .at = expression->words.first};
    struct find_node *node;

    if (!parser.at)
        return true;
    node = parse_joined(&parser, FIND_COMMA);
    if (node && parser.at) {
        message_usage("')': no '\\(' comes before it");
        return false;
    }
    if (node)
        append(&expression->options, node);
    return node != NULL;
}

bool find_expression_finish(struct find_expression *expression)
{
    struct parser parser = {.expression = expression};

    if (!parse(expression))
        return false;
    if (!expression->acts) {
        struct find_node *print = find_expression_add(expression, &expression->options);

        if (!print)
            return false;
        print->passes = find_print;
    }
    if (expression->max_depth >= 0 || expression->min_depth > 0)
        expression->needs |= FIND_DEPTH;
    for (struct find_node *node = expression->newest; node; node = node->older)
        expression->needs |= node->needs;
    expression->root = join(&parser, expression->options, all_pass);
    return expression->root != NULL;
}

static void print_format(const struct printf_format *format, struct find_visit *visit)
{
    printf_format_apply(format, visit);
    output_bytes(visit->line.data, visit->line.size);
}

bool find_print(const struct find_node *node, struct find_visit *visit)
{
    const struct find_settings *settings = visit->settings;
    const struct sb_entry *entry = visit->entry;

    (void)node;
    if (visit->quit)
        return true;
    if (settings->json) {
        json_begin(&visit->json);
        json_entry(&visit->json, entry, visit->content);
        json_print(&visit->json);
    } else if (settings->format) {
        print_format(settings->format, visit);
    } else {
        output_line(entry->path, entry->path_size, settings->nul);
    }
    return true;
}

bool find_print_nul(const struct find_node *node, struct find_visit *visit)
{
    (void)node;
    if (!visit->quit)
        output_line(visit->entry->path, visit->entry->path_size, true);
    return true;
}

bool find_print_format(const struct find_node *node, struct find_visit *visit)
{
    if (!visit->quit)
        print_format(node->format, visit);
    return true;
}
