/* A whole session of the daemon over socket pairs: control messages, one a line, and behind an empty line
 * what goes over a data connection. Frames and headers get right check values, so that what is behind them is
 * reached. A model is stored before each run, and the root is made anew. */
#include "target.h"

#include "common/path.h"
#include "common/token.h"
#include "proto/bytes.h"
#include "proto/chunk.h"
#include "proto/frame.h"
#include "server/session.h"
#include "server/transfer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct config config = {.max_streams = 4, .timeout_s = 60, .staging_days = 14};
static struct server server = {.config = &config};
static char root[64];
static int root_fd = -1;

static void on_stream_mail(void *context, struct mail *mail)
{
    (void)context;
    transfer_on_mail(mail);
}

static void remove_root(void)
{
    char *name = strrchr(root, '/');
    *name = '\0';
    int base = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)path_remove_tree(base, name + 1);
    (void)close(base);
}

static void start_server(void)
{
    struct error err;
    const char *base = getenv("TMPDIR");
    (void)snprintf(root, sizeof root, "%.30s/mstore-fuzz-XXXXXX", base ? base : "/dev/shm");
    must_hold(mkdtemp(root) && token_start(&err) == 0 && uv_loop_init(&server.loop) == 0);
    (void)atexit(remove_root);
    config.root = root;
    log_open("fuzz", LOG_ERROR);
    must_hold(store_open(&server.store, root, &err) == 0);
    root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    server.mailbox = mailbox_open(&server.loop, on_stream_mail, &server);
    (void)uv_timer_init(&server.loop, &server.sweep_timer);
    server.sweep_timer.data = &server;
    disk_init(&server.disk, root_fd);
}

/* `ns/m` with a file that came by other means; everything else goes. */
static void reset_root(void)
{
    static const char *const tops[] = {"staging", "trash", "meta", "lock"};
    (void)path_remove_tree(root_fd, "ns");
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, ".mstore/%s/ns", tops[i]);
        (void)path_remove_tree(root_fd, path);
    }
    must_hold(mkdirat(root_fd, "ns", 0777) == 0 && mkdirat(root_fd, "ns/m", 0777) == 0);
    int fd = openat(root_fd, "ns/m/f", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    must_hold(fd >= 0 && write(fd, "stored", 6) == 6);
    (void)close(fd);
}

/* Until no work and no write is under way; what the daemon says is read away. */
static void settle(int client)
{
    char sink[4096];
    for (int quiet = 0; quiet < 3; quiet++) {
        while (server.loop.active_reqs.count > 0)
            (void)uv_run(&server.loop, UV_RUN_ONCE);
        if (uv_run(&server.loop, UV_RUN_NOWAIT) == 0)
            break;
        while (recv(client, sink, sizeof sink, MSG_DONTWAIT) > 0)
            quiet = 0;
    }
}

static void send_frame(int client, const uint8_t *text, size_t length)
{
    uint8_t header[FRAME_HEADER_SIZE];
    if (length < 2)
        return; /* no frame is that short */
    frame_encode((const char *)text, length, header);
    (void)send(client, header, sizeof header, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)send(client, text, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    settle(client);
}

/* Sends the lines; returns what is behind the empty one. */
static const uint8_t *send_lines(int client, const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        const uint8_t *line = at, *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
        if (stop == line)
            break;
        send_frame(client, line, (size_t)((stop ? stop : end) - line));
    }
    return at;
}

/* Bytes as data headers with right check values; payload and trailer as they come. */
static void send_data(int data, const uint8_t *at, size_t left)
{
    while (left >= CHUNK_HEADER_SIZE) {
        uint8_t header[CHUNK_HEADER_SIZE];
        memcpy(header, at, sizeof header);
        put_le(header + 24, fnv1a_64(header, 24), 8);
        (void)send(data, header, sizeof header, MSG_NOSIGNAL | MSG_DONTWAIT);
        at += sizeof header;
        left -= sizeof header;
        uint64_t length = get_le(header + 16, 8);
        size_t behind = header[0] == CHUNK_DATA ? CHUNK_TRAILER_SIZE : 0;
        size_t take = header[0] != CHUNK_DATA ? 0 : length + behind < left ? (size_t)length + behind : left;
        (void)send(data, at, take, MSG_NOSIGNAL | MSG_DONTWAIT);
        at += take;
        left -= take;
    }
}

static void run_data(int client, const uint8_t *bytes, size_t length)
{
    int ends[2];
    struct hello hello = {.version = 1, .role = HELLO_DATA};
    if (length == 0 || !server.sessions)
        return;
    must_hold(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    session_add_stream(server.sessions, &hello, ends[1]);
    send_data(ends[0], bytes, length);
    (void)shutdown(ends[0], SHUT_WR);
    settle(client);
    (void)close(ends[0]);
    while (server.streams > 0)
        (void)uv_run(&server.loop, UV_RUN_ONCE);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    int ends[2];
    if (root_fd < 0)
        start_server();
    reset_root();
    must_hold(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    session_open(&server, ends[1]);
    settle(ends[0]);
    const uint8_t *data = send_lines(ends[0], bytes, bytes + length);
    run_data(ends[0], data, (size_t)(bytes + length - data));
    static const char commit[] = "{\"type\":\"commit\"}";
    send_frame(ends[0], (const uint8_t *)commit, sizeof commit - 1);
    (void)close(ends[0]);
    while (server.session_count > 0 || server.loop.active_reqs.count > 0)
        (void)uv_run(&server.loop, UV_RUN_ONCE);
    must_hold(server.streams == 0);
    return 0;
}
