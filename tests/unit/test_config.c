/* The daemon's settings: three sources in their order, the rule about open addresses, and who may connect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "server/config.h"

#define ARGUMENTS_MAX 16

static char file_path[256]; /* made by make_file() */

/* Parses `line`, split at spaces, behind "mstored". The file is always named, so that one in /etc does
 * not count. */
static int parse(struct config *config, const char *line, struct error *err)
{
    char *argv[ARGUMENTS_MAX + 1] = {(char *)"mstored", (char *)"--config", file_path};
    int argc = 3;
    char *copy = strdup(line);
    assert_non_null(copy);
    for (char *at = copy, *word; (word = strsep(&at, " ")) != NULL;) {
        assert_true(argc < ARGUMENTS_MAX);
        if (word[0] != '\0')
            argv[argc++] = word;
    }
    int rc = config_parse(config, argc, argv, err);
    free(copy);
    return rc;
}

static struct config accept_line(const char *line)
{
    struct config config;
    struct error err = {0};
    if (parse(&config, line, &err) < 0)
        fail_msg("'%s' was refused: %s", line, err.text);
    return config;
}

static void refuse_line(const char *line, const char *text)
{
    struct config config;
    struct error err = {0};
    if (parse(&config, line, &err) == 0)
        fail_msg("'%s' was accepted", line);
    assert_string_equal(err.text, text);
    assert_int_equal(err.code, ERROR_USAGE);
}

static void write_file(const char *text)
{
    FILE *file = fopen(file_path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void defaults_are_those_of_the_manual(void **state)
{
    (void)state;
    struct config c = accept_line("--root /srv/models");
    assert_string_equal(c.root, "/srv/models");
    assert_int_equal(c.listen_count, 1);
    assert_string_equal(c.listen[0].host, "127.0.0.1");
    assert_int_equal(c.listen[0].port, 7420);
    assert_false(c.no_auth || c.read_only || c.help || c.version);
    assert_int_equal(c.allow_count, 0);
    assert_int_equal(c.max_streams, 64);
    assert_int_equal(c.timeout_s, 60);
    assert_int_equal(c.io, IO_AUTO);
    assert_int_equal(c.staging_days, 14);
    assert_int_equal(c.log_level, LOG_INFO);
    config_release(&c);
}

static void every_option_reaches_its_field(void **state)
{
    (void)state;
    struct config c =
        accept_line("--root r --listen 127.0.0.1:0 --listen=[::1] --allow 10.0.0.0/8 --read-only "
                    "--max-streams 8 --timeout=5");
    assert_int_equal(c.listen_count, 2);
    assert_int_equal(c.listen[0].port, 0);
    assert_string_equal(c.listen[1].host, "::1");
    assert_int_equal(c.allow_count, 1);
    assert_true(c.read_only);
    assert_int_equal(c.max_streams, 8);
    assert_int_equal(c.timeout_s, 5);
    config_release(&c);
    c = accept_line("--root r --no-auth --io buffered --staging-days 3 --log-level debug");
    assert_true(c.no_auth);
    assert_int_equal(c.io, IO_BUFFERED);
    assert_int_equal(c.staging_days, 3);
    assert_int_equal(c.log_level, LOG_DEBUG);
    config_release(&c);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    refuse_line("", "no root: say with --root DIR where the models lie");
    refuse_line("--root=", "option '--root': '' is no path");
    refuse_line("--root r --root s", "option '--root' is given twice: give it once");
    refuse_line("--rot r", "unknown option '--rot': did you mean '--root'?");
    refuse_line("/srv/models",
                "'/srv/models' is no option: mstored takes options only, for instance --root DIR");
    refuse_line("--root r --max-streams 0",
                "option '--max-streams': '0' is not a whole number from 1 to 1024");
    refuse_line("--root r --timeout 1m", "option '--timeout': '1m' is not a whole number from 1 to 3600");
    refuse_line("--root r --log-level loud",
                "option '--log-level': 'loud' is not one of error, warn, info or debug");
    refuse_line("--root r --token-file f --no-auth",
                "--no-auth and --token-file contradict each other: leave one out");
    refuse_line("--make-token rx", "option '--make-token': 'rx' is not one of rw or ro");
    refuse_line(
        "--root r --allow 10.0.0/8",
        "option '--allow': '10.0.0/8' is not ADDRESS[/BITS], for instance '10.0.0.0/8' or 'fd00::/8'");
    refuse_line("--root r --allow 10.0.0.0/33",
                "option '--allow': '10.0.0.0/33' has no number from 0 to 32 behind its "
                "slash");
    refuse_line("--root r --allow fd00::/129",
                "option '--allow': 'fd00::/129' has no number from 0 to 128 behind its "
                "slash");
    refuse_line("--root r --allow 10.0.0.0/",
                "option '--allow': '10.0.0.0/' has no number from 0 to 32 behind its slash");
}

static void open_addresses_need_no_auth(void **state)
{
    (void)state;
    static const char *const open[] = {"0.0.0.0:7420", "[::]:7420", "10.0.0.1:7420", "nas:7420"};
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        char line[100];
        char text[ERROR_TEXT_MAX];
        (void)snprintf(line, sizeof line, "--root r --listen localhost --listen %s", open[i]);
        (void)snprintf(
            text, sizeof text,
            "will not listen on '%s' without authentication: name tokens with --token-file FILE, or add "
            "--no-auth to serve everyone who can reach it",
            open[i]);
        refuse_line(line, text);
        (void)snprintf(line, sizeof line, "--root r --no-auth --listen %s", open[i]);
        struct config c = accept_line(line);
        config_release(&c);
    }
}

static void stronger_sources_win(void **state)
{
    (void)state;
    write_file("# models\nroot = file\nlisten = 127.0.0.1:1\nlisten = 127.0.0.1:2\n  timeout = 7\nread-only "
               "= yes\n");
    struct config c = accept_line("");
    assert_string_equal(c.root, "file");
    assert_int_equal(c.listen_count, 2);
    assert_int_equal(c.timeout_s, 7);
    assert_true(c.read_only);
    config_release(&c);
    assert_int_equal(setenv("MSTORED_ROOT", "environment", 1), 0);
    assert_int_equal(setenv("MSTORED_LISTEN", " 127.0.0.1:3  [::1]:4 127.0.0.1:5 ", 1), 0);
    assert_int_equal(setenv("MSTORED_READ_ONLY", "no", 1), 0);
    c = accept_line("");
    assert_string_equal(c.root, "environment");
    assert_int_equal(c.listen_count, 3);
    assert_int_equal(c.listen[1].port, 4);
    assert_false(c.read_only);
    config_release(&c);
    c = accept_line("--root argument --listen 127.0.0.1:6 --read-only");
    assert_string_equal(c.root, "argument");
    assert_int_equal(c.listen_count, 1);
    assert_int_equal(c.listen[0].port, 6);
    assert_true(c.read_only);
    assert_int_equal(c.timeout_s, 7);
    config_release(&c);
    assert_int_equal(unsetenv("MSTORED_ROOT"), 0);
    assert_int_equal(unsetenv("MSTORED_LISTEN"), 0);
    assert_int_equal(unsetenv("MSTORED_READ_ONLY"), 0);
    write_file("");
}

static void faults_name_variable_or_line(void **state)
{
    (void)state;
    char text[ERROR_TEXT_MAX];
    assert_int_equal(setenv("MSTORED_NO_AUTH", "maybe", 1), 0);
    refuse_line("--root r", "variable 'MSTORED_NO_AUTH': 'maybe' is neither 'yes' nor 'no'");
    assert_int_equal(unsetenv("MSTORED_NO_AUTH"), 0);
    write_file("root = r\nmax-stream = 3\n");
    (void)snprintf(text, sizeof text, "'%s' line 2: unknown name 'max-stream': did you mean 'max-streams'?",
                   file_path);
    refuse_line("", text);
    write_file("config = /other\n");
    (void)snprintf(text, sizeof text, "'%s' line 1: unknown name 'config'", file_path);
    refuse_line("", text);
    write_file("");
}

static void a_named_file_must_be_there(void **state)
{
    (void)state;
    struct config config;
    struct error err;
    char *argv[] = {(char *)"mstored", (char *)"--root", (char *)"r", (char *)"--config",
                    (char *)"/nonexistent/x"};
    assert_int_equal(config_parse(&config, 5, argv, &err), -1);
    assert_string_equal(err.text, "cannot open '/nonexistent/x': No such file or directory");
    assert_int_equal(err.code, ERROR_USAGE);
}

static void help_and_version_need_no_root(void **state)
{
    (void)state;
    struct config c = accept_line("--help");
    assert_true(c.help);
    config_release(&c);
    c = accept_line("--version");
    assert_true(c.version);
    config_release(&c);
}

static bool is_allowed(const struct config *config, const char *address)
{
    struct sockaddr_in ipv4 = {.sin_family = AF_INET};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, address, &ipv4.sin_addr) == 1)
        return config_is_allowed(config, (struct sockaddr *)&ipv4);
    assert_int_equal(inet_pton(AF_INET6, address, &ipv6.sin6_addr), 1);
    return config_is_allowed(config, (struct sockaddr *)&ipv6);
}

static void without_a_list_everyone_is_allowed(void **state)
{
    (void)state;
    struct config c = accept_line("--root r");
    assert_true(is_allowed(&c, "8.8.8.8"));
    assert_true(is_allowed(&c, "2001:db8::1"));
    config_release(&c);
}

static void only_listed_ranges_are_allowed(void **state)
{
    (void)state;
    struct config c = accept_line("--root r --allow 192.168.4.7/22 --allow 10.1.2.3 --allow fd00:1::/33");
    assert_true(is_allowed(&c, "192.168.4.0"));
    assert_true(is_allowed(&c, "192.168.7.255"));
    assert_false(is_allowed(&c, "192.168.8.0"));
    assert_false(is_allowed(&c, "192.168.3.255"));
    assert_true(is_allowed(&c, "10.1.2.3"));
    assert_false(is_allowed(&c, "10.1.2.4"));
    assert_true(is_allowed(&c, "fd00:1:7fff::1"));
    assert_false(is_allowed(&c, "fd00:1:8000::1"));
    assert_false(is_allowed(&c, "127.0.0.1"));
    assert_false(is_allowed(&c, "::1"));
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    assert_false(config_is_allowed(&c, (struct sockaddr *)&local));
    config_release(&c);
}

static void mapped_addresses_count_as_ipv4(void **state)
{
    (void)state;
    struct config c = accept_line("--root r --allow 10.0.0.0/8 --allow ::ffff:172.16.0.0/108");
    assert_true(is_allowed(&c, "::ffff:10.9.9.9"));
    assert_false(is_allowed(&c, "::ffff:11.0.0.1"));
    assert_true(is_allowed(&c, "172.31.0.1"));
    assert_false(is_allowed(&c, "172.32.0.1"));
    assert_false(is_allowed(&c, "a00::"));
    config_release(&c);
    c = accept_line("--root r --allow ::/0");
    assert_true(is_allowed(&c, "2001:db8::1"));
    assert_false(is_allowed(&c, "10.0.0.1"));
    config_release(&c);
    c = accept_line("--root r --allow 0.0.0.0/0");
    assert_true(is_allowed(&c, "255.1.2.3"));
    assert_false(is_allowed(&c, "2001:db8::1"));
    config_release(&c);
}

static int make_file(void **state)
{
    const char *base = getenv("TMPDIR");
    (void)state;
    (void)snprintf(file_path, sizeof file_path, "%s/mstored-config-XXXXXX", base && *base ? base : "/tmp");
    int fd = mkstemp(file_path);
    return fd < 0 || close(fd) < 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_manual),
        cmocka_unit_test(every_option_reaches_its_field),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(open_addresses_need_no_auth),
        cmocka_unit_test(stronger_sources_win),
        cmocka_unit_test(faults_name_variable_or_line),
        cmocka_unit_test(a_named_file_must_be_there),
        cmocka_unit_test(help_and_version_need_no_root),
        cmocka_unit_test(without_a_list_everyone_is_allowed),
        cmocka_unit_test(only_listed_ranges_are_allowed),
        cmocka_unit_test(mapped_addresses_count_as_ipv4),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
