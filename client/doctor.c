/* doctor: asks both machines about themselves, tries whether full-sized packets pass between them, and prints
 * what the rules make of it. It changes nothing.
 *
 * The first connection is an ordinary one and carries enough in both directions to fill packets. Where it is
 * opened and then falls silent, a second one of small segments does the asking. */
#include "client/attempts.h"
#include "client/bench_link.h"
#include "client/commands.h"
#include "client/control.h"
#include "client/doctor_rules.h"
#include "client/output.h"

#include "common/clock.h"
#include "common/fdio.h"
#include "common/link_facts.h"
#include "common/machine_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* In each direction: 40 packets of 1500 bytes, 7 jumbo ones. */
#define LARGE_BYTES 65536
/* On a link that works it takes a fraction of a second. */
#define LARGE_TIMEOUT_S 5

struct doctor {
    const struct options *options;
    struct fact_list client, server;
    struct doctor_view view;
    int folder; /* where the user is */
};

/* -- asking -- */

struct own_facts {
    struct fact_list *facts;
    struct machine_view view;
};

static void collect_own(void *context)
{
    struct own_facts *own = context;
    machine_facts(own->facts, &own->view);
}

/* Reads `fact …, end`. */
static int read_facts(struct control *control, struct doctor *d, struct error *err)
{
    for (;;) {
        struct message message;
        if (control_next(control, &message, err) < 0)
            return -1;
        enum message_type type = message.type;
        int result = 0;
        if (d->server.count == 0)
            d->view.answered_ns = clock_wall_ns();
        if (type == MESSAGE_FACT)
            result = facts_take(&d->server, message.u.fact.name, message.u.fact.value, err);
        else if (type != MESSAGE_END)
            result = control_unexpected(&message, err);
        message_release(&message);
        if (result < 0 || type == MESSAGE_END)
            return result;
    }
}

/* Both machines look at themselves at the same time. */
static int collect(struct control *control, struct doctor *d, uint64_t padding, struct error *err)
{
    struct message request = {.type = MESSAGE_HOST, .u.host = {.padding = padding}};
    struct own_facts own = {
        .facts = &d->client,
        .view = {.root = "", .socket = control->fd, .folder = d->folder, .sample_ms = MACHINE_SAMPLE_MS}};
    d->view.asked_ns = clock_wall_ns();
    if (control_send(control, &request, err) < 0 || control_work(control, collect_own, NULL, &own, err) < 0)
        return -1;
    return read_facts(control, d, err);
}

/* -- large packets -- */

/* Whether the connection ended because nothing came any more, and which way that was: what the server's
 * kernel has not acknowledged did not arrive there. */
static enum doctor_large what_was_lost(const struct control *control, const struct error *err)
{
    bool gave_up = err->sys == ETIMEDOUT; /* TCP_USER_TIMEOUT: on what we had sent */
    bool silent = clock_ms() - control->last_life_ms >= (uint64_t)control->timeout_s * 1000;
    if (err->code != ERROR_LOST || !(gave_up || silent))
        return DOCTOR_LARGE_PASS;
    return gave_up || link_is_unanswered(control->fd) ? DOCTOR_LARGE_LOST_UP : DOCTOR_LARGE_LOST_DOWN;
}

static int look_with_large_packets(struct doctor *d, struct attempt *attempt, struct error *err)
{
    struct control control;
    struct options options = *d->options;
    if (options.timeout_s > LARGE_TIMEOUT_S)
        options.timeout_s = LARGE_TIMEOUT_S;
    if (control_open(&control, &options, err) < 0)
        return -1;
    attempt->connected = true;
    int result = control_send_burst(&control, LARGE_BYTES, err);
    if (result == 0)
        result = collect(&control, d, LARGE_BYTES, err);
    if (result < 0)
        d->view.large = what_was_lost(&control, err);
    control_close(&control);
    return result;
}

static int look_with_small_packets(struct doctor *d, struct error *err)
{
    struct control control;
    facts_release(&d->client);
    facts_release(&d->server);
    if (control_open_narrow(&control, d->options, err) < 0)
        return -1;
    int result = collect(&control, d, 0, err);
    control_close(&control);
    return result;
}

static int look_once(void *context, struct attempt *attempt, struct error *err)
{
    struct doctor *d = context;
    d->view.large = DOCTOR_LARGE_PASS;
    int result = look_with_large_packets(d, attempt, err);
    if (result < 0 && d->view.large != DOCTOR_LARGE_PASS) {
        err->code = ERROR_NONE;
        result = look_with_small_packets(d, err);
    }
    if (result < 0) {
        facts_release(&d->client);
        facts_release(&d->server);
    }
    return result;
}

static int look(struct doctor *d, struct error *err)
{
    d->folder = fdio_openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    int result = attempts_run(d->options, look_once, d, err);
    fdio_drop(&d->folder);
    return result;
}

/* -- the link -- */

/* For as many bytes as its cards promise in a second. A server that does not allow it is no failure. */
static int measure_one(const struct doctor *d, bool up, uint64_t *bytes_per_s, struct error *err)
{
    struct bench_rate rate;
    uint64_t bytes = doctor_nominal_rate(&d->view);
    if (bench_link(d->options, up, d->options->streams, bytes, &rate, err) == 0) {
        *bytes_per_s = bench_rate_bytes_per_s(&rate);
        return 0;
    }
    if (err->code == ERROR_INTERRUPTED || err->code == ERROR_TERMINATED)
        return -1;
    output_note(d->options, "the rate of the link %s was not measured: %s", up ? "up" : "down", err->text);
    err->code = ERROR_NONE;
    return 0;
}

/* Where it is known what it should be, and large packets pass at all. */
static int measure_link(struct doctor *d, struct error *err)
{
    if (doctor_nominal_rate(&d->view) == 0 || d->view.large != DOCTOR_LARGE_PASS)
        return 0;
    if (measure_one(d, true, &d->view.link.up_bytes_per_s, err) < 0)
        return -1;
    return measure_one(d, false, &d->view.link.down_bytes_per_s, err);
}

/* -- JSON -- */

static void add_finding(struct json *findings, const struct doctor_finding *finding)
{
    struct json *object = json_add(findings, NULL, json_object());
    json_add_text(object, "id", finding->id);
    json_add_text(object, "where", doctor_where_name(finding->where));
    json_add_text(object, "severity", doctor_severity_name(finding->severity));
    json_add_text(object, "value", finding->value);
    json_add_text(object, "advice", finding->advice);
    json_add_text(object, "command", finding->command);
    json_add_text(object, "confidence", doctor_confidence_name(finding->confidence));
}

static struct json *to_json(const struct doctor_report *report)
{
    struct json *object = json_object();
    struct json *findings = json_add(object, "findings", json_array());
    for (size_t i = 0; i < report->count; i++)
        add_finding(findings, &report->findings[i]);
    return object;
}

/* -- text -- */

#define INDENT     8
#define LINE_WIDTH 78

/* Words in lines, each indented. */
static void print_wrapped(const char *text)
{
    for (size_t column = 0; *text;) {
        size_t length = strcspn(text, " ");
        if (column > 0 && column + 1 + length > LINE_WIDTH) {
            (void)printf("\n");
            column = 0;
        }
        column += (size_t)printf("%*s%.*s", column > 0 ? 1 : INDENT, "", (int)length, text);
        text += length + strspn(text + length, " ");
    }
    (void)printf("\n");
}

static void print_finding(const struct doctor_finding *finding)
{
    (void)printf("%-6s  %s: %s: ", doctor_severity_name(finding->severity), doctor_where_name(finding->where),
                 finding->id);
    output_text(finding->value);
    (void)printf(" (%s)\n", doctor_confidence_name(finding->confidence));
    print_wrapped(finding->advice);
    if (finding->command[0]) {
        (void)printf("%*smend: ", INDENT, "");
        output_text(finding->command);
        (void)printf("\n");
    }
}

/* What could be looked at, or with `unknown` what could not, and where. */
static void print_looked_at(const struct doctor_view *view, bool unknown)
{
    char text[4096] = "";
    size_t used = 0;
    for (size_t i = 0; i < doctor_rule_count() && used < sizeof text; i++) {
        struct doctor_reach reach = doctor_rule_reach(view, i);
        bool client = reach.client != unknown, server = reach.server != unknown;
        if ((!client && !server) || (unknown && reach.is_extra))
            continue;
        int n = snprintf(text + used, sizeof text - used, "%s%s%s", used > 0 ? ", " : "", reach.what,
                         reach.between || (client && server) ? ""
                         : client                            ? " (client)"
                                                             : " (server)");
        used += (size_t)n;
    }
    if (used == 0)
        return;
    (void)printf("%s:\n", unknown ? "not known" : "looked at");
    print_wrapped(text);
}

static void print_facts(const char *where, const struct fact_list *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        (void)printf("%s  %s  ", where, facts->items[i].name);
        output_text(facts->items[i].value);
        (void)printf("\n");
    }
}

static void print_text(const struct doctor *d, const struct doctor_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        print_finding(&report->findings[i]);
    if (d->options->quiet)
        return;
    if (report->count == 0)
        (void)printf("nothing found\n");
    if (report->count == 0 || d->options->verbose > 0)
        print_looked_at(&d->view, false);
    print_looked_at(&d->view, true);
    if (d->options->verbose == 0)
        return;
    print_facts("client", &d->client);
    print_facts("server", &d->server);
}

int command_doctor(const struct options *options)
{
    struct error err = {0};
    struct json *result = NULL;
    struct doctor_report report;
    struct doctor d = {.options = options, .folder = -1};
    d.view.host = options->server.host;
    d.view.client = &d.client;
    d.view.server = &d.server;
    if (look(&d, &err) == 0 && measure_link(&d, &err) == 0) {
        doctor_judge(&d.view, &report);
        if (options->json)
            result = to_json(&report);
        else
            print_text(&d, &report);
    }
    facts_release(&d.client);
    facts_release(&d.server);
    return output_finish(options, result, &err);
}
