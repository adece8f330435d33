/* Counting, and two ways of saying it. */
#include "client/report.h"

#include "client/output.h"
#include "client/prediction.h"
#include "client/verdict.h"
#include "common/units.h"
#include "proto/json.h"
#include "proto/limits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names that are listed in text before the rest is only counted. */
#define MOST_NAMES 10

static void *grow(void *list, size_t count, size_t size)
{
    void *grown = realloc(list, (count + 1) * size);
    if (!grown)
        abort();
    return grown;
}

static char *copy(const char *text)
{
    char *copied = strdup(text);
    if (!copied)
        abort();
    return copied;
}

void report_fail(struct report *r, const char *path, const struct error *error)
{
    r->failures = grow(r->failures, r->failure_count, sizeof *r->failures);
    r->failures[r->failure_count++] =
        (struct report_failure){path ? copy(path) : NULL, copy(error->text), error->code};
    output_error("%s", error->text);
}

void report_warn(struct report *r, const struct options *options, const char *format, ...)
{
    va_list args, again;
    char *text = NULL;
    va_start(args, format);
    va_copy(again, args);
    output_note_v(options, format, args);
    if (vasprintf(&text, format, again) < 0)
        abort();
    va_end(again);
    va_end(args);
    r->warnings = grow(r->warnings, r->warning_count, sizeof *r->warnings);
    r->warnings[r->warning_count++] = text;
}

void report_stream(struct report *r, const struct report_stream *stream)
{
    r->streams = grow(r->streams, r->stream_count, sizeof *r->streams);
    r->streams[r->stream_count++] = *stream;
}

void report_peer(struct report *r, unsigned number, const struct activity *activity)
{
    for (size_t i = r->stream_count; i-- > 0;)
        if (r->streams[i].number == number) {
            r->streams[i].peer = *activity;
            return;
        }
}

void report_leave_alone(struct report *r, const char *path)
{
    r->left_alone = grow(r->left_alone, r->left_alone_count, sizeof *r->left_alone);
    r->left_alone[r->left_alone_count++] = copy(path);
}

void report_move(struct report *r, const char *path, uint64_t bytes)
{
    r->moves = grow(r->moves, r->move_count, sizeof *r->moves);
    r->moves[r->move_count++] = (struct report_move){copy(path), bytes};
}

void report_release(struct report *r)
{
    for (size_t i = 0; i < r->failure_count; i++) {
        free(r->failures[i].path);
        free(r->failures[i].error);
    }
    for (size_t i = 0; i < r->warning_count; i++)
        free(r->warnings[i]);
    for (size_t i = 0; i < r->left_alone_count; i++)
        free(r->left_alone[i]);
    for (size_t i = 0; i < r->move_count; i++)
        free(r->moves[i].path);
    free(r->moves);
    free(r->failures);
    free(r->warnings);
    free(r->left_alone);
    free(r->streams);
    memset(r, 0, sizeof *r);
}

double report_took(const struct report *r)
{
    return r->seconds + (double)r->flush_ns / 1e9;
}

static uint64_t rate(const struct report *r)
{
    return r->seconds > 0 ? (uint64_t)((double)r->bytes.sent / r->seconds) : 0;
}

static bool sends(const struct report *r)
{
    return strcmp(r->command, "push") == 0;
}

static struct verdict limited_by(const struct report *r, const struct report_stream *s)
{
    return sends(r) ? verdict_of(&s->own, &s->peer) : verdict_of(&s->peer, &s->own);
}

/* The share of what was read from large files at the sending end that was in its page cache; false if that is
 * not known. */
static bool source_cached(const struct report *r, double *share)
{
    uint64_t bytes = 0, cached = 0;
    for (size_t i = 0; i < r->stream_count; i++) {
        const struct activity *a = sends(r) ? &r->streams[i].own : &r->streams[i].peer;
        bytes += a->source_bytes;
        cached += a->cached_bytes;
    }
    *share = bytes > 0 ? (double)cached / (double)bytes : 0;
    return bytes > 0;
}

/* Of all streams and of the flush behind them, for which each of them had to wait. */
static struct verdict limited_in_all(const struct report *r)
{
    struct report_stream sum = {0};
    for (size_t i = 0; i < r->stream_count; i++)
        if (r->streams[i].peer.wall_ns > 0) {
            struct activity flush = {.wall_ns = r->flush_ns}, flushing = flush;
            flushing.file_ns = r->flush_ns;
            activity_add(&sum.own, &r->streams[i].own);
            activity_add(&sum.peer, &r->streams[i].peer);
            activity_add(&sum.own, sends(r) ? &flush : &flushing);
            activity_add(&sum.peer, sends(r) ? &flushing : &flush);
        }
    return limited_by(r, &sum);
}

/* -- JSON -- */

static void add_streams(struct json *result, const struct report *r)
{
    struct json *streams = json_add(result, "streams", json_array());
    for (size_t i = 0; i < r->stream_count; i++) {
        const struct report_stream *s = &r->streams[i];
        struct json *stream = json_add(streams, NULL, json_object());
        json_add_size(stream, "bytes", s->bytes);
        json_add_number(stream, "seconds", s->seconds);
        json_add_size(stream, "rcvbuf", s->rcvbuf);
        json_add_size(stream, "sndbuf", s->sndbuf);
        json_add_text(stream, "send", s->sendfile ? "sendfile" : "copy");
        const char *name = verdict_name(limited_by(r, s).stage, sends(r));
        if (name)
            json_add_text(stream, "limited_by", name);
        else
            json_add_null(stream, "limited_by");
    }
}

/* What the text says in lines of its own. */
static void add_derived_warnings(struct json *warnings, const struct report *r)
{
    char text[LIMIT_PATH + 64];
    if (r->junk > 0) {
        (void)snprintf(text, sizeof text, "%" PRIu64 " book-keeping files and folders were left out",
                       r->junk);
        json_add_text(warnings, NULL, text);
    }
    for (size_t i = 0; i < r->left_alone_count; i++) {
        (void)snprintf(text, sizeof text, "left alone, not part of the model: '%s'", r->left_alone[i]);
        json_add_text(warnings, NULL, text);
    }
}

static void add_texts(struct json *result, const struct report *r)
{
    struct json *failed = json_add(result, "failed", json_array());
    for (size_t i = 0; i < r->failure_count; i++) {
        struct json *failure = json_add(failed, NULL, json_object());
        if (r->failures[i].path)
            json_add_path(failure, "path", r->failures[i].path, true);
        else
            json_add_null(failure, "path");
        json_add_text(failure, "error", r->failures[i].error);
    }
    struct json *warnings = json_add(result, "warnings", json_array());
    for (size_t i = 0; i < r->warning_count; i++)
        json_add_text(warnings, NULL, r->warnings[i]);
    add_derived_warnings(warnings, r);
}

/* What a dry run would move. */
static void add_moves(struct json *result, const struct report *r)
{
    struct json *moves = json_add(result, "would_move", json_array());
    for (size_t i = 0; i < r->move_count; i++) {
        struct json *move = json_add(moves, NULL, json_object());
        json_add_path(move, "path", r->moves[i].path, true);
        json_add_size(move, "bytes", r->moves[i].bytes);
    }
}

static struct json *to_json(const struct report *r, const struct options *options, bool ok)
{
    char server[HOSTPORT_TEXT_MAX];
    struct json *result = json_object();
    json_add_text(result, "command", r->command);
    json_add_text(result, "model", r->model);
    json_add_text(result, "server", hostport_format(server, &options->server));
    json_add_bool(result, "ok", ok);
    if (r->dry_run) {
        json_add_bool(result, "dry_run", true);
        add_moves(result, r);
    }
    struct json *files = json_add(result, "files", json_object());
    json_add_size(files, "total", r->files.total);
    json_add_size(files, "sent", r->files.sent);
    json_add_size(files, "skipped", r->files.skipped);
    json_add_size(files, "failed", r->files.failed);
    struct json *bytes = json_add(result, "bytes", json_object());
    json_add_size(bytes, "total", r->bytes.total);
    json_add_size(bytes, "sent", r->bytes.sent);
    json_add_size(bytes, "resumed", r->bytes.resumed);
    json_add_size(bytes, "skipped", r->bytes.skipped);
    json_add_number(result, "seconds", r->seconds);
    json_add_size(result, "bytes_per_second", rate(r));
    if (r->predicted_seconds > 0)
        json_add_number(result, "predicted_seconds", r->predicted_seconds);
    else
        json_add_null(result, "predicted_seconds");
    add_streams(result, r);
    double cached;
    if (source_cached(r, &cached))
        json_add_number(result, "source_cached", cached);
    else
        json_add_null(result, "source_cached");
    json_add_bool(result, "verified", r->verified);
    json_add_bool(result, "durable", r->durable);
    if (r->has_warm)
        warm_add_json(result, &r->warm);
    add_texts(result, r);
    return result;
}

/* -- text -- */

static void print_streams(const struct report *r)
{
    char receive[UNITS_TEXT_MAX], send[UNITS_TEXT_MAX];
    size_t carried = 0, by_sendfile = 0;
    for (size_t i = 0; i < r->stream_count; i++) {
        carried += r->streams[i].bytes > 0;
        by_sendfile += r->streams[i].sendfile;
    }
    if (r->stream_count == 0)
        return;
    (void)printf("  %zu stream%s, %s, socket buffers %s in and %s out%s\n", carried, carried == 1 ? "" : "s",
                 by_sendfile > 0 ? "sendfile" : "copied", units_format_bytes(receive, r->streams[0].rcvbuf),
                 units_format_bytes(send, r->streams[0].sndbuf),
                 r->in_turn ? ", blocks of a rotating disk read in turn" : "");
}

/* Below this a run says nothing about what the machines can do. */
#define VERDICT_MIN_SECONDS 0.5

static void print_verdict(const struct report *r)
{
    struct verdict verdict = limited_in_all(r);
    double cached;
    if (verdict.stage == VERDICT_NONE || r->seconds < VERDICT_MIN_SECONDS)
        return;
    (void)printf("  limited by: %s %.0f %%", verdict_text(verdict.stage, sends(r)), 100 * verdict.share);
    if (source_cached(r, &cached))
        (void)printf("; %.0f %% of the source came from the page cache", 100 * cached);
    (void)printf("\n");
}

static void print_prediction(const struct report *r)
{
    char text[PREDICTION_TEXT_MAX];
    if (r->predicted_seconds > 0)
        (void)printf("  %s\n", prediction_text(text, r->predicted_seconds, report_took(r)));
}

static void print_left_alone(const struct report *r)
{
    if (r->left_alone_count == 0)
        return;
    (void)printf("  left alone, not part of the model:");
    for (size_t i = 0; i < r->left_alone_count && i < MOST_NAMES; i++) {
        (void)printf(i ? ", '" : " '");
        output_text(r->left_alone[i]);
        (void)printf("'");
    }
    if (r->left_alone_count > MOST_NAMES)
        (void)printf(" and %zu more", r->left_alone_count - MOST_NAMES);
    (void)printf("\n");
}

static void print_parts(const struct report *r)
{
    char text[UNITS_TEXT_MAX];
    if (r->files.skipped > 0)
        (void)printf("  %" PRIu64 " files (%s) were there already\n", r->files.skipped,
                     units_format_bytes(text, r->bytes.skipped));
    if (r->bytes.resumed > 0)
        (void)printf("  %s were there from an earlier, unfinished %s\n",
                     units_format_bytes(text, r->bytes.resumed), r->command);
    if (r->junk > 0)
        (void)printf("  %" PRIu64 " book-keeping files and folders were left out (--all takes them too)\n",
                     r->junk);
}

static void print_warm(const struct report *r)
{
    char text[WARM_TEXT_MAX];
    if (!r->has_warm)
        return;
    (void)printf("  %s\n", warm_text(text, &r->warm));
    if (warm_loader_hint(&r->warm))
        (void)printf("  %s\n", warm_loader_hint(&r->warm));
}

static void print_moves(const struct report *r)
{
    char bytes[UNITS_TEXT_MAX];
    for (size_t i = 0; i < r->move_count; i++) {
        (void)printf("%10s  ", units_format_bytes(bytes, r->moves[i].bytes));
        output_text(r->moves[i].path);
        (void)printf("\n");
    }
}

static void print_text(const struct report *r, bool ok)
{
    char bytes[UNITS_TEXT_MAX], speed[UNITS_TEXT_MAX], time[UNITS_TEXT_MAX];
    (void)units_format_bytes(bytes, r->bytes.sent);
    if (r->dry_run) {
        print_moves(r);
        (void)printf("%s %s: would move %" PRIu64 " of %" PRIu64 " files, %s\n", r->command, r->model,
                     r->files.sent, r->files.total, bytes);
    } else if (ok) {
        (void)printf("%s %s: %" PRIu64 " files, %s %s in %s, %s%s%s\n", r->command, r->model, r->files.total,
                     bytes, sends(r) ? "sent" : "received",
                     units_format_duration(time, (uint64_t)(r->seconds * 1000)),
                     units_format_rate(speed, rate(r)), r->verified ? ", verified" : "",
                     r->durable ? ", durable" : "");
        print_streams(r);
        print_verdict(r);
        print_prediction(r);
    }
    print_parts(r);
    print_warm(r);
    print_left_alone(r);
}

int report_print(const struct report *r, const struct options *options, const struct error *error)
{
    bool ok = error->code == ERROR_NONE;
    if (options->json)
        return output_finish(options, to_json(r, options, ok), error);
    if (!options->quiet || r->dry_run)
        print_text(r, ok);
    return output_finish(options, NULL, error);
}
