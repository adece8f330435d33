/* Commands and their arguments: which there are, how many each takes, what they have to look like. */
#include "options_line.h"

#include "client/help.h"

static void commands_are_checked(void **state)
{
    (void)state;
    refuse_line("", "no command: 'mstore --help' lists the commands");
    refuse_line("~", "unknown command '': 'mstore --help' lists the commands");
    refuse_line("psuh /tmp a/b", "unknown command 'psuh': did you mean 'push'?");
    refuse_line("list", "unknown command 'list': did you mean 'ls'?");
    refuse_line("put", "unknown command 'put': 'mstore --help' lists the commands");
    refuse_line("upload", "unknown command 'upload': 'mstore --help' lists the commands");
    refuse_line("bench reed x", "'x' is one argument too many: write mstore bench [NS/MODEL]");
    refuse_line("bench reed",
                "'reed' is not a model id: write NS/MODEL, both of letters, digits, '-', '_', '.'");
    refuse_line("read x", "unknown command 'read': 'mstore --help' lists the commands");
}

static void positional_arguments_are_counted(void **state)
{
    (void)state;
    refuse_line("push /tmp", "'push' lacks an argument: write mstore push SRC NS/MODEL");
    refuse_line("pull a/b", "'pull' lacks an argument: write mstore pull NS/MODEL DST");
    refuse_line("pull a/b d e", "'e' is one argument too many: write mstore pull NS/MODEL DST");
    refuse_line("ls a b", "'b' is one argument too many: write mstore ls [GLOB]");
    refuse_line("info", "'info' lacks an argument: write mstore info NS/MODEL");
    refuse_line("rm", "'rm' lacks an argument: write mstore rm NS/MODEL...");
    refuse_line("status a/b", "'a/b' is one argument too many: write mstore status");
    refuse_line("verify a/b d e", "'e' is one argument too many: write mstore verify NS/MODEL [DIR]");
    refuse_line("bench read", "'bench read' lacks an argument: write mstore bench read PATH...");
    refuse_line("doctor nas", "'nas' is one argument too many: write mstore doctor");
    refuse_line("pull a/b ~", "'' is no argument: write mstore pull NS/MODEL DST");
}

static void model_ids_are_checked(void **state)
{
    (void)state;
    refuse_line("info model",
                "'model' is not a model id: write NS/MODEL, both of letters, digits, '-', '_', '.'");
    refuse_line("rm a/b ../c",
                "'../c' is not a model id: write NS/MODEL, both of letters, digits, '-', '_', '.'");
    refuse_line("push /tmp a/b/c",
                "'a/b/c' is not a model id: write NS/MODEL, both of letters, digits, '-', '_', '.'");
    struct options o = accept_line("ls [ab]*/..");
    options_release(&o);
}

static void swapped_arguments_are_noticed(void **state)
{
    (void)state;
    assert_int_equal(mkdir("dir", 0777), 0);
    refuse_line("push o/m ./dir", "'o/m' is not a file or folder; did you mean: mstore push './dir' 'o/m'?");
    refuse_line("pull ./dir o/m", "'./dir' is not a model id; did you mean: mstore pull 'o/m' './dir'?");
    assert_int_equal(rmdir("dir"), 0);
    refuse_line("push o/m ./dir",
                "'./dir' is not a model id: write NS/MODEL, both of letters, digits, '-', '_', '.'");
}

static void a_source_of_the_hub_brings_its_own_name(void **state)
{
    (void)state;
    struct options o = accept_line("push hf:org/model@refs/pr/1");
    assert_int_equal(o.arguments.count, 2);
    assert_string_equal(o.arguments.items[0], "hf:org/model@refs/pr/1");
    assert_string_equal(o.arguments.items[1], "org/model");
    options_release(&o);
    o = accept_line("push hf:gpt2 ns/m");
    assert_string_equal(o.arguments.items[1], "ns/m");
    options_release(&o);
    refuse_line("push hf:gpt2", "'gpt2' has no namespace: write NS/MODEL behind it");
    refuse_line("push hf:../x", "'hf:../x' names no repo of the Hub: write hf:ORG/MODEL[@REVISION]");
}

static void one_file_of_a_model_is_split_from_it(void **state)
{
    (void)state;
    struct options o = accept_line("pull ns/m/a/b.bin dst");
    assert_string_equal(o.arguments.items[0], "ns/m");
    assert_string_equal(o.file, "a/b.bin");
    options_release(&o);
    o = accept_line("pull ns/m dst");
    assert_null(o.file);
    options_release(&o);
    refuse_line("pull ns/m/ dst",
                "'ns/m/' is not a model id: write NS/MODEL, both of letters, digits, '-', '_', '.'");
    refuse_line("pull ns/m/../x dst",
                "'ns/m/../x' is not a model id: write NS/MODEL, both of letters, digits, '-', '_', '.'");
    refuse_line("pull ns/m/x dst --include y", "'x' is one file: leave '--include' and '--exclude' out");
}

static void the_layout_decides_about_the_destination(void **state)
{
    (void)state;
    struct options o = accept_line("pull ns/m --layout hf-cache --cache-dir d");
    assert_int_equal(o.layout, LAYOUT_HF_CACHE);
    assert_string_equal(o.cache_dir, "d");
    assert_int_equal(o.arguments.count, 1);
    options_release(&o);
    o = accept_line("pull ns/m dst --layout folder");
    assert_int_equal(o.layout, LAYOUT_FOLDER);
    options_release(&o);
    refuse_line("pull --layout hf-cache", "'pull' lacks an argument: write mstore pull NS/MODEL DST");
    refuse_line(
        "pull ns/m dst --layout hf-cache",
        "'dst' is one argument too many: with '--layout hf-cache' the folder is given by '--cache-dir' or "
        "the environment");
    refuse_line("pull ns/m dst --cache-dir d", "option '--cache-dir' goes with '--layout hf-cache' only");
    refuse_line("pull ns/m/x --layout hf-cache",
                "'x' is one file; for '--layout hf-cache' name the model, and the file with '--include'");
}

static void the_words_of_a_command_that_is_run_are_its_own(void **state)
{
    (void)state;
    struct options o = accept_line("--warm run ns/m --budget 1.5G -- sh -c ~ --json {}");
    assert_int_equal(o.command, COMMAND_RUN);
    assert_true(o.warm && o.budget == 1500000000 && !o.json);
    assert_int_equal(o.arguments.count, 6);
    assert_string_equal(o.arguments.items[0], "ns/m");
    assert_string_equal(o.arguments.items[3], "");
    assert_string_equal(o.arguments.items[4], "--json");
    options_release(&o);
    refuse_line("run ns/m", "'run' lacks an argument: write mstore run NS/MODEL -- CMD...");
    refuse_line("run ns/m ~", "'' is no argument: write mstore run NS/MODEL -- CMD...");
    refuse_line(
        "run --json ns/m -- true",
        "option '--json' does not go with 'run': it is for 'push' or 'pull' or 'ls' or 'info' or 'rm' or "
        "'verify' or 'doctor' or 'status' or 'bench' or 'bench read' or 'bench report' or 'get' or 'cache "
        "ls' or 'cache rm' or 'cache pin' or 'cache unpin' or 'cache prune' or 'cache paths'");
}

static void the_cache_is_asked_without_a_server(void **state)
{
    (void)state;
    struct options o = accept_line("cache rm a/b c/d");
    assert_int_equal(o.command, COMMAND_CACHE_RM);
    assert_int_equal(o.arguments.count, 2);
    options_release(&o);
    struct error err = {0};
    assert_int_equal(parse(&o, "-s nas cache ls", &err), -1);
    assert_non_null(strstr(err.text, "option '-s, --server' does not go with 'cache ls'"));
    refuse_line("cache pin a/b nomodel",
                "'nomodel' is not a model id: write NS/MODEL, both of letters, digits, '-', '_', '.'");
    refuse_line("cache ls a/b", "'a/b' is one argument too many: write mstore cache ls");
    refuse_line("get a/b --budget 0", "option '--budget': '0' is too little: give at least 1 byte");
}

static void each_command_has_its_own_help(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    help_print(out, COMMAND_RM);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "usage: mstore rm [options] NS/MODEL"));
    assert_non_null(strstr(text, "--yes"));
    assert_null(strstr(text, "--streams"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_checked),
        cmocka_unit_test(positional_arguments_are_counted),
        cmocka_unit_test(model_ids_are_checked),
        cmocka_unit_test(swapped_arguments_are_noticed),
        cmocka_unit_test(a_source_of_the_hub_brings_its_own_name),
        cmocka_unit_test(one_file_of_a_model_is_split_from_it),
        cmocka_unit_test(the_layout_decides_about_the_destination),
        cmocka_unit_test(the_words_of_a_command_that_is_run_are_its_own),
        cmocka_unit_test(the_cache_is_asked_without_a_server),
        cmocka_unit_test(each_command_has_its_own_help),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
