/* The loop between a reader and a json_stream. */
#include "common/model_json.h"

#define PIECE ((size_t)32 << 10)

int model_json_begins(const struct model_reader *in, struct finding *why)
{
    char first = '\0';
    if (in->size > 0 && model_reader_get(in, &first, 1, 0, why) < 0)
        return -1;
    return first == '{' ? 0 : finding_set(why, FINDING_NOT_CHECKED, "does not begin as a JSON object does");
}

static int judge(enum json_stream_result result, const char *subject, struct finding *why)
{
    if (result == JSON_STREAM_GOOD)
        return 0;
    if (result == JSON_STREAM_STOPPED)
        return -1;
    return finding_set(why, FINDING_BAD_HEADER, "is damaged: %s %s", subject, json_stream_words(result));
}

static int feed_all(struct json_stream *stream, const struct model_reader *in, uint64_t offset,
                    uint64_t length, const char *subject, struct finding *why)
{
    char piece[PIECE];
    for (uint64_t done = 0; done < length;) {
        size_t n = length - done < PIECE ? (size_t)(length - done) : PIECE;
        if (model_reader_get(in, piece, n, offset + done, why) < 0 ||
            judge(json_stream_feed(stream, piece, n), subject, why) < 0)
            return -1;
        done += n;
    }
    return judge(json_stream_finish(stream), subject, why);
}

int model_json_read(const struct model_reader *in, uint64_t offset, uint64_t length, const char *subject,
                    size_t max_token, json_visitor *visit, void *context, struct finding *why)
{
    struct json_stream *stream = json_stream_create(visit, context, MODEL_JSON_DEPTH, max_token);
    int result = feed_all(stream, in, offset, length, subject, why);
    json_stream_destroy(&stream);
    return result;
}

int model_json_parse(const char *text, size_t length, const char *subject, json_visitor *visit, void *context,
                     struct finding *why)
{
    struct json_stream *stream = json_stream_create(visit, context, MODEL_JSON_DEPTH, length);
    int result = judge(json_stream_feed(stream, text, length), subject, why);
    if (result == 0)
        result = judge(json_stream_finish(stream), subject, why);
    json_stream_destroy(&stream);
    return result;
}
