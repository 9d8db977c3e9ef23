#include "bag_opening.h"

const char *const compression_words[] = {"auto", "none", "zstd", NULL};
const char *const limits_words[] = {"auto", "tail", "separate", NULL};
const char *const layout_words[] = {"concatenated", "interleaved", NULL};
