#include "find/print.h"
#include "ui/output.h"
#include "ui/printf_format.h"

static void print_format(const struct printf_format *format, struct find_visit *visit)
{
    struct find_printer *printer = visit->printer;

    printf_format_apply(format, visit->entry, visit->depth, printer->content, &printer->line);
    output_bytes(printer->line.data, printer->line.size);
}

unsigned find_needs_of(const struct printf_format *format)
{
    return FIND_CONTENT | (printf_format_needs_rows(format) ? FIND_ROWS : 0) |
           (printf_format_needs_depth(format) ? FIND_DEPTH : 0);
}

bool find_print(const struct find_node *node, struct find_visit *visit)
{
    struct find_printer *printer = visit->printer;
    const struct sb_entry *entry = visit->entry;

    (void)node;
    if (visit->quit)
        return true;
    if (printer->as_json) {
        json_begin(&printer->json);
        json_entry(&printer->json, entry, printer->content);
        json_print(&printer->json);
    } else if (printer->format) {
        print_format(printer->format, visit);
    } else {
        output_line(entry->path, entry->path_size, printer->nul);
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

void find_printer_release(struct find_printer *printer)
{
    sb_content_free(printer->content);
    sb_buf_release(&printer->line);
    json_release(&printer->json);
}
