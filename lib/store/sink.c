#include "store/sink.h"

void sb_sink_free(struct sb_sink *sink)
{
    if (sink)
        sink->ops->free(sink);
}

enum sb_code sb_sink_commit(struct sb_sink *sink, struct sb_error *err)
{
    return sink->ops->commit(sink, err);
}
