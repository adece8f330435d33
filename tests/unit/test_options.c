/* The client's command line: every form that works, and for everything else an error that says what was
 * wrong and what to write instead. */
#include "options_line.h"

static void defaults_are_those_of_the_manual(void **state)
{
    (void)state;
    struct options o = accept_line("push /tmp a/b");
    assert_int_equal(o.command, COMMAND_PUSH);
    assert_string_equal(o.server.host, "127.0.0.1");
    assert_int_equal(o.server.port, 7420);
    assert_int_equal(o.streams, 4);
    assert_int_equal(o.timeout_s, 60);
    assert_int_equal(o.retries, 5);
    assert_int_equal(o.io, IO_AUTO);
    assert_int_equal(o.progress, PROGRESS_AUTO);
    assert_false(o.all || o.checksum || o.dry_run || o.add || o.yes || o.json || o.quiet || o.help ||
                 o.version);
    assert_int_equal(o.include.count + o.exclude.count + o.verbose, 0);
    assert_int_equal(o.arguments.count, 2);
    assert_string_equal(o.arguments.items[1], "a/b");
    options_release(&o);
}

static void an_option_may_be_written_in_four_ways(void **state)
{
    (void)state;
    static const char *const lines[] = {"pull -n8 a/b d",         "pull -n 8 a/b d", "pull --streams=8 a/b d",
                                        "pull --streams 8 a/b d", "pull -qn8 a/b d", "pull -qn 8 a/b d"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct options o = accept_line(lines[i]);
        assert_int_equal(o.streams, 8);
        options_release(&o);
    }
}

static void options_may_stand_before_between_and_behind(void **state)
{
    (void)state;
    static const char *const lines[] = {"-n 8 --json pull a/b d", "pull -n 8 a/b --json d",
                                        "pull a/b d -n 8 --json", "-n 8 pull a/b --json -- d"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct options o = accept_line(lines[i]);
        assert_int_equal(o.command, COMMAND_PULL);
        assert_int_equal(o.streams, 8);
        assert_true(o.json);
        assert_int_equal(o.arguments.count, 2);
        options_release(&o);
    }
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    struct options o = accept_line("pull -q -- a/b --json");
    assert_false(o.json);
    assert_string_equal(o.arguments.items[1], "--json");
    options_release(&o);
    o = accept_line("ls -");
    assert_string_equal(o.arguments.items[0], "-");
    options_release(&o);
}

static void every_option_reaches_its_field(void **state)
{
    (void)state;
    struct options o =
        accept_line("push --include *.gguf --include=b --exclude c --all --checksum --dry-run --add -vv "
                    "/tmp a/b");
    assert_int_equal(o.include.count, 2);
    assert_string_equal(o.include.items[0], "*.gguf");
    assert_string_equal(o.include.items[1], "b");
    assert_int_equal(o.exclude.count, 1);
    assert_true(o.all && o.checksum && o.dry_run && o.add);
    assert_int_equal(o.verbose, 2);
    options_release(&o);
    o = accept_line("pull --io direct --timeout 3600 --retries 0 --progress json -q -s nas:1 a/b d");
    assert_int_equal(o.io, IO_DIRECT);
    assert_int_equal(o.timeout_s, 3600);
    assert_int_equal(o.retries, 0);
    assert_int_equal(o.progress, PROGRESS_JSON);
    assert_string_equal(o.server.host, "nas");
    assert_true(o.quiet);
    options_release(&o);
    o = accept_line("info --load-cost 13 --local-rate 2.5G a/b");
    assert_int_equal(o.load_cost_s, 13);
    assert_int_equal(o.local_bytes_per_s, 2500000000);
    options_release(&o);
    o = accept_line("rm -y a/b c/d e/f");
    assert_true(o.yes);
    assert_int_equal(o.arguments.count, 3);
    options_release(&o);
    o = accept_line("bench read --mode mmap --cache cold --rounds 7 --label nas --out f --load-cost 13 x y");
    assert_int_equal(o.command, COMMAND_BENCH_READ);
    assert_int_equal(o.read_mode, READ_MODE_MMAP);
    assert_int_equal(o.cache, CACHE_WISH_COLD);
    assert_int_equal(o.rounds, 7);
    assert_string_equal(o.label, "nas");
    assert_string_equal(o.out, "f");
    assert_int_equal(o.load_cost_s, 13);
    assert_int_equal(o.arguments.count, 2);
    options_release(&o);
    o = accept_line("--json bench report --chart a.png f");
    assert_int_equal(o.command, COMMAND_BENCH_REPORT);
    assert_string_equal(o.chart, "a.png");
    assert_string_equal(o.arguments.items[0], "f");
    options_release(&o);
}

static void a_command_may_have_two_words_with_options_between(void **state)
{
    (void)state;
    static const char *const lines[] = {"bench read f", "--rounds 3 bench read f", "bench --rounds 3 read f",
                                        "bench read -- f"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct options o = accept_line(lines[i]);
        assert_int_equal(o.command, COMMAND_BENCH_READ);
        assert_int_equal(o.rounds, 3);
        assert_int_equal(o.cache, CACHE_WISH_NONE);
        assert_int_equal(o.arguments.count, 1);
        options_release(&o);
    }
    struct options o = accept_line("bench read --help");
    assert_int_equal(o.command, COMMAND_BENCH_READ);
    options_release(&o);
}

static void what_needs_no_server_takes_nothing_of_it(void **state)
{
    (void)state;
    write_config("token-file = /nonexistent/token\n");
    struct options o = accept_line("bench report f");
    assert_null(o.token);
    options_release(&o);
    refuse_line("ls", "cannot open the token file '/nonexistent/token': No such file or directory");
    write_config("");
    struct error err;
    static const char *const lines[] = {"-s nas:1 bench read f", "bench report --retries 1 f",
                                        "bench read --timeout 1 f", "bench read --token-file x f"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(parse(&o, lines[i], &err), -1);
        assert_int_equal(err.code, ERROR_USAGE);
        assert_non_null(strstr(err.text, "does not go with 'bench re"));
    }
}

static void unknown_options_are_refused_with_the_nearest_name(void **state)
{
    (void)state;
    refuse_line("pull --steams 4 a/b d", "unknown option '--steams': did you mean '--streams'?");
    refuse_line("pull --stream=4 a/b d", "unknown option '--stream': did you mean '--streams'?");
    refuse_line("pull --dryrun a/b d", "unknown option '--dryrun': did you mean '--dry-run'?");
    refuse_line("pull --inc x a/b d", "unknown option '--inc': did you mean '--include'?");
    refuse_line("pull --force a/b d", "unknown option '--force': 'mstore --help' lists the options");
    refuse_line("pull -streams 4 a/b d", "unknown option '-streams': did you mean '--streams'?");
    refuse_line("pull -x a/b d", "unknown option '-x' in '-x': 'mstore --help' lists the options");
    refuse_line("pull -qx a/b d", "unknown option '-x' in '-qx': 'mstore --help' lists the options");
    refuse_line("pull --token-file f a/b d", "cannot open the token file 'f': No such file or directory");
    refuse_line("--=x ls", "unknown option '--': 'mstore --help' lists the options");
}

static void values_out_of_range_are_refused(void **state)
{
    (void)state;
    refuse_line("pull --bwlimit 999 a/b d",
                "option '--bwlimit': '999' is too little: give at least 1K, bytes a second");
    refuse_line("pull -n 0 a/b d", "option '-n': '0' is not a whole number from 1 to 64");
    refuse_line("pull -n 65 a/b d", "option '-n': '65' is not a whole number from 1 to 64");
    refuse_line("pull -n -1 a/b d", "option '-n': '-1' is not a whole number from 1 to 64");
    refuse_line("pull -n 4x a/b d", "option '-n': '4x' is not a whole number from 1 to 64");
    refuse_line("pull --streams= a/b d", "option '--streams': '' is not a whole number from 1 to 64");
    refuse_line("ls --timeout 0", "option '--timeout': '0' is not a whole number from 1 to 3600");
    refuse_line("ls --timeout 3601", "option '--timeout': '3601' is not a whole number from 1 to 3600");
    refuse_line("ls --retries 1001", "option '--retries': '1001' is not a whole number from 0 to 1000");
    refuse_line("pull --io mmap a/b d", "option '--io': 'mmap' is not one of auto, buffered or direct");
    refuse_line("pull --progress on a/b d",
                "option '--progress': 'on' is not one of auto, bar, plain, json or none");
    refuse_line("pull --include= a/b d",
                "option '--include': '' matches nothing: write a pattern such as '*.gguf'");
    refuse_line("bench read --mode fast f", "option '--mode': 'fast' is not one of read or mmap");
    refuse_line("bench read --cache mixed f", "option '--cache': 'mixed' is not one of cold or warm");
    refuse_line("bench read --rounds 0 f", "option '--rounds': '0' is not a whole number from 1 to 1000");
    refuse_line("bench read --label= f", "option '--label': '' is no label: write 1 to 200 bytes");
    refuse_line("bench read --out= f", "option '--out': '' is no file: write a name");
    refuse_line("bench report --load-cost -1 f",
                "option '--load-cost': '-1' is not a whole number from 0 to 86400");
    refuse_line("bench report --chart x.jpg f",
                "option '--chart': 'x.jpg' says no form: write a name that ends in .svg or .png");
    refuse_line("bench report --chart .png f",
                "option '--chart': '.png' says no form: write a name that ends in .svg or .png");
    refuse_line("ls -s nas:0", "option '-s': 'nas:0' has port 0: write the port on which mstored listens");
    refuse_line("ls -s :7420",
                "option '-s': ':7420' has no host: write HOST:PORT, for instance '127.0.0.1:7420'");
}

static void missing_and_surplus_arguments_of_options_are_refused(void **state)
{
    (void)state;
    refuse_line("pull a/b d -n", "option '-n' lacks its argument N");
    refuse_line("pull a/b d --include", "option '--include' lacks its argument GLOB");
    refuse_line("pull --include --json a/b d",
                "option '--include' lacks its argument GLOB: write '--include=--json' if '--json' is meant");
    refuse_line("ls --json=yes", "option '--json' takes no argument: leave out '=yes'");
}

static void repeated_options_are_refused_unless_repeatable(void **state)
{
    (void)state;
    refuse_line("pull -n 4 --streams 4 a/b d", "option '--streams' is given twice: give it once");
    refuse_line("ls --json --json", "option '--json' is given twice: give it once");
    refuse_line("rm -yy a/b", "option '-y' is given twice: give it once");
}

static void misplaced_options_are_refused(void **state)
{
    (void)state;
    refuse_line("pull --add a/b d", "option '--add' does not go with 'pull': it is for 'push'");
    refuse_line("push -y /tmp a/b", "option '-y, --yes' does not go with 'push': it is for 'rm'");
    refuse_line("push --io direct /tmp a/b",
                "option '--io' does not go with 'push': it is for 'pull' or 'bench' or 'get' or 'run'");
    refuse_line(
        "ls -n 4",
        "option '-n, --streams' does not go with 'ls': it is for 'push' or 'pull' or 'bench' or 'get' or "
        "'run'");
    refuse_line("rm --dry-run a/b", "option '--dry-run' does not go with 'rm': it is for 'push' or 'pull'");
    refuse_line("info --progress none a/b", "option '--progress' does not go with 'info': it is for 'push' "
                                            "or 'pull' or 'verify' or 'get' or 'run'");
    refuse_line("bench read --chart a.svg f",
                "option '--chart' does not go with 'bench read': it is for 'bench report'");
    refuse_line("bench report --rounds 2 f",
                "option '--rounds' does not go with 'bench report': it is for 'bench' or 'bench read'");
    refuse_line("pull --local-rate 1G a/b d",
                "option '--local-rate' does not go with 'pull': it is for 'info'");
    refuse_line("ls -q -v", "options '--quiet' and '--verbose' exclude each other: leave one out");
}

static void help_and_version_need_nothing_else(void **state)
{
    (void)state;
    write_config("nonsense\n");
    struct options o = accept_line("--help");
    assert_true(o.help);
    assert_int_equal(o.command, COMMAND_NONE);
    options_release(&o);
    o = accept_line("push --help");
    assert_true(o.help);
    assert_int_equal(o.command, COMMAND_PUSH);
    options_release(&o);
    o = accept_line("-h rm --add");
    assert_int_equal(o.command, COMMAND_RM);
    options_release(&o);
    o = accept_line("--version");
    assert_true(o.version);
    options_release(&o);
    refuse_line("psuh --help", "unknown command 'psuh': did you mean 'push'?");
    write_config("");
}

static void the_server_comes_from_the_strongest_source(void **state)
{
    (void)state;
    write_config("# a comment\n\n[mstore]\n  server = filehost:1 ; where the models are\n");
    struct options o = accept_line("ls");
    assert_string_equal(o.server.host, "filehost");
    options_release(&o);
    assert_int_equal(setenv("MSTORE_SERVER", "envhost:2", 1), 0);
    o = accept_line("ls");
    assert_string_equal(o.server.host, "envhost");
    options_release(&o);
    o = accept_line("ls -s argument:3");
    assert_string_equal(o.server.host, "argument");
    assert_int_equal(o.server.port, 3);
    options_release(&o);
    assert_int_equal(setenv("MSTORE_SERVER", "", 1), 0);
    o = accept_line("ls");
    assert_string_equal(o.server.host, "filehost");
    options_release(&o);
    assert_int_equal(setenv("MSTORE_SERVER", "a:b", 1), 0);
    refuse_line("ls", "variable 'MSTORE_SERVER': 'a:b' has no port from 0 to 65535 behind its colon");
    assert_int_equal(unsetenv("MSTORE_SERVER"), 0);
    write_config("");
}

static void the_config_of_the_home_folder_is_the_second_choice(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
    assert_int_equal(mkdir(".config", 0777), 0);
    assert_int_equal(mkdir(".config/mstore", 0777), 0);
    FILE *file = fopen(".config/mstore/config", "w");
    assert_non_null(file);
    assert_true(fputs("server = homehost\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    struct options o = accept_line("ls");
    assert_string_equal(o.server.host, "homehost");
    options_release(&o);
    assert_int_equal(unlink(".config/mstore/config"), 0);
    assert_int_equal(rmdir(".config/mstore"), 0);
    assert_int_equal(rmdir(".config"), 0);
    o = accept_line("ls");
    assert_string_equal(o.server.host, "127.0.0.1");
    options_release(&o);
    assert_int_equal(setenv("XDG_CONFIG_HOME", directory, 1), 0);
}

static void faults_of_the_config_are_named_with_their_line(void **state)
{
    (void)state;
    char longest[4000];
    refuse_config("\nsevrer = x\n", "line 2: unknown name 'sevrer': did you mean 'server'?");
    refuse_config("streams = 8\n", "line 1: unknown name 'streams'");
    refuse_config("server = a\n server = b\n", "line 2: 'server' is given twice: give it once");
    refuse_config("# x\nserver\n", "line 2 is not 'name = value'");
    refuse_config("server\nsevrer = x\n", "line 1 is not 'name = value'");
    refuse_config("[other]\nserver = x\n", "line 2 is in the unknown section '[other]': leave it out");
    refuse_config("server =\n", "line 1: 'server': '' is not HOST[:PORT], for instance 'nas:7420' or "
                                "'[fe80::1]:7420'");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    memcpy(longest, "server=", 7);
    write_config(longest);
    struct options options;
    struct error err;
    assert_int_equal(parse(&options, "ls", &err), -1);
    assert_non_null(strstr(err.text, "line 1 is no text line of at most"));
    write_config("");
}

static void an_unreadable_config_is_an_error_and_no_usage_error(void **state)
{
    (void)state;
    struct options options;
    struct error err;
    assert_int_equal(unlink("mstore/config"), 0);
    assert_int_equal(mkdir("mstore/config", 0777), 0);
    assert_int_equal(parse(&options, "ls", &err), -1);
    assert_int_equal(err.code, ERROR_FAILED);
    assert_non_null(strstr(err.text, "/mstore/config'"));
    assert_int_equal(rmdir("mstore/config"), 0);
}

static void a_refusal_still_tells_whether_json_is_wanted(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool is_json;
    } cases[] = {
        {"--json pull -n 0 a/b d", true}, {"pull -n 0 a/b d --json", true}, {"-x --json", true},
        {"pull -n 0 a/b d", false},       {"pull -n 0 -- --json d", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct options options;
        struct error err;
        assert_int_equal(parse(&options, cases[i].line, &err), -1);
        assert_int_equal(options.json, cases[i].is_json);
    }
}

static void the_budget_has_another_name_in_the_file(void **state)
{
    (void)state;
    write_config("cache-budget = 2G\n");
    struct options o = accept_line("cache ls");
    assert_true(o.budget == 2000000000);
    options_release(&o);
    o = accept_line("cache ls --budget 3G");
    assert_true(o.budget == 3000000000);
    options_release(&o);
    refuse_config("budget = 2G\n", "line 1: unknown name 'budget': did you mean 'cache-budget'?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_manual),
        cmocka_unit_test(an_option_may_be_written_in_four_ways),
        cmocka_unit_test(options_may_stand_before_between_and_behind),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(every_option_reaches_its_field),
        cmocka_unit_test(a_command_may_have_two_words_with_options_between),
        cmocka_unit_test(what_needs_no_server_takes_nothing_of_it),
        cmocka_unit_test(unknown_options_are_refused_with_the_nearest_name),
        cmocka_unit_test(values_out_of_range_are_refused),
        cmocka_unit_test(missing_and_surplus_arguments_of_options_are_refused),
        cmocka_unit_test(repeated_options_are_refused_unless_repeatable),
        cmocka_unit_test(misplaced_options_are_refused),
        cmocka_unit_test(help_and_version_need_nothing_else),
        cmocka_unit_test(the_server_comes_from_the_strongest_source),
        cmocka_unit_test(the_config_of_the_home_folder_is_the_second_choice),
        cmocka_unit_test(faults_of_the_config_are_named_with_their_line),
        cmocka_unit_test(an_unreadable_config_is_an_error_and_no_usage_error),
        cmocka_unit_test(a_refusal_still_tells_whether_json_is_wanted),
        cmocka_unit_test(the_budget_has_another_name_in_the_file),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
