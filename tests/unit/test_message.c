/* Control messages: every type survives the way there and back, and every field is held against the page. */
#include "message_text.h"

#include "proto/json.h"

/* One good text of each type, in the order of the enumeration, all optional fields given. */
static const char *const samples[MESSAGE_TYPE_COUNT] = {
    [MESSAGE_ALIVE] = "{\"type\":\"alive\"}",
    [MESSAGE_CHALLENGE] = "{\"type\":\"challenge\",\"nonce\":\"" SECRET "\"}",
    [MESSAGE_PROVE] = "{\"type\":\"prove\",\"nonce\":\"" SECRET "\",\"proof\":\"" SECRET "\"}",
    [MESSAGE_WELCOME] = "{\"type\":\"welcome\",\"proof\":\"" SECRET "\",\"write\":false}",
    [MESSAGE_LIST] = "{\"type\":\"list\"}",
    [MESSAGE_INFO] = "{\"type\":\"info\",\"model\":\"ns/m\"}",
    [MESSAGE_REMOVE] = "{\"type\":\"remove\",\"model\":\"ns/m\"}",
    [MESSAGE_VERIFY] = "{\"type\":\"verify\",\"model\":\"ns/m\"}",
    [MESSAGE_PUSH] = "{\"type\":\"push\",\"model\":\"ns/m\"}",
    [MESSAGE_PULL] = "{\"type\":\"pull\",\"model\":\"ns/m\"}",
    [MESSAGE_STATUS] = "{\"type\":\"status\"}",
    [MESSAGE_LINK] = "{\"type\":\"link\"}",
    [MESSAGE_DISK_WRITE] = "{\"type\":\"disk_write\",\"bytes\":1}",
    [MESSAGE_DISK_READ] = "{\"type\":\"disk_read\",\"model\":\"ns/m\",\"bytes\":1}",
    [MESSAGE_MEASURED] = "{\"type\":\"measured\",\"write\":true,\"bytes\":1,\"ns\":2,\"cached\":3}",
    [MESSAGE_HOST] = "{\"type\":\"host\",\"padding\":65536}",
    [MESSAGE_ERROR] = "{\"type\":\"error\",\"code\":\"busy\",\"message\":\"text\",\"path\":\"a/b\"}",
    [MESSAGE_END] = "{\"type\":\"end\"}",
    [MESSAGE_MODEL] =
        "{\"type\":\"model\",\"name\":\"ns/m\",\"bytes\":5,\"files\":1,\"mtime\":-1,\"nsec\":999999999,"
        "\"state\":\"complete\",\"present\":5,\"warnings\":0,\"flawed\":true,\"origin\":\"hf:o/m@1\"}",
    [MESSAGE_PROGRESS] = "{\"type\":\"progress\",\"bytes\":1,\"total\":2}",
    [MESSAGE_CHECKED] = "{\"type\":\"checked\",\"path\":\"a/b\",\"ok\":false,\"bad\":[0,7]}",
    [MESSAGE_FACT] = "{\"type\":\"fact\",\"name\":\"cpus\",\"value\":\"4\"}",
    [MESSAGE_SERVER] = "{\"type\":\"server\",\"version\":\"0.1.0\",\"uptime\":1,\"bytes_free\":2,"
                       "\"bytes_total\":3,\"rate\":4,\"streams\":5,\"max_streams\":64,\"waiting\":6,"
                       "\"source\":7,\"cached\":8}",
    [MESSAGE_SESSION] = "{\"type\":\"session\",\"peer\":\"10.0.0.2:1234\",\"request\":\"push\","
                        "\"model\":\"ns/m\",\"bytes\":1,\"rate\":2,\"streams\":3,\"age\":4}",
    [MESSAGE_FILES] =
        "{\"type\":\"files\",\"files\":[{\"path\":\"a\",\"size\":5,\"mtime\":-1,\"nsec\":0,\"hash\":\"" HASH
        "\",\"source\":7,\"sha256\":\"" SECRET "\",\"git_blob\":\"" GIT_BLOB
        "\",\"from\":\"send\"},{\"path_hex\":\"ff\",\"size\":0,\"mtime\":0,\"nsec\":1}]}",
    [MESSAGE_LISTED] = "{\"type\":\"listed\"}",
    [MESSAGE_STAGED] =
        "{\"type\":\"staged\",\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0,\"source\":7,\"first\":0,"
        "\"hashes\":\"" HASH HASH "\"}",
    [MESSAGE_PLAN] = "{\"type\":\"plan\",\"files\":1,\"bytes\":2,\"missing_files\":3,\"missing_bytes\":4,"
                     "\"add\":true,\"origin\":\"hf:o/m@1\"}",
    [MESSAGE_GO] = "{\"type\":\"go\"}",
    [MESSAGE_READY] = "{\"type\":\"ready\",\"streams\":4,\"origin\":\"hf:o/m@1\"}",
    [MESSAGE_COMMIT] = "{\"type\":\"commit\"}",
    [MESSAGE_PUBLISHED] = "{\"type\":\"published\",\"files\":1,\"bytes\":2,\"durable\":true}",
    [MESSAGE_HASHES] = "{\"type\":\"hashes\",\"file\":3}",
    [MESSAGE_BLOCKS] = "{\"type\":\"blocks\",\"file\":3,\"first\":8192,\"hashes\":\"" HASH "\"}",
    [MESSAGE_METADATA] = "{\"type\":\"metadata\",\"metadata\":{\"complete\":true}}",
    [MESSAGE_DONE] = "{\"type\":\"done\"}",
    [MESSAGE_ACTIVITY] =
        "{\"type\":\"activity\",\"stream\":1,\"bytes\":2,\"wall\":3,\"file\":4,\"socket\":5,\"cpu\":6,"
        "\"queued\":7,\"busy\":8,\"window\":9,\"source\":10,\"cached\":11}",
};

static void every_type_survives_the_way_there_and_back(void **state)
{
    (void)state;
    for (int type = 0; type < MESSAGE_TYPE_COUNT; type++) {
        struct message message;
        size_t length;
        if (decode(samples[type], &message) < 0)
            fail_msg("refused: %s", samples[type]);
        assert_int_equal(message.type, type);
        char *text = message_encode(&message, &length);
        assert_int_equal(length, strlen(text));
        assert_string_equal(text, samples[type]);
        free(text);
        message_release(&message);
        char named[32];
        (void)snprintf(named, sizeof named, "\"%s\"", message_type_name((enum message_type)type));
        assert_non_null(strstr(samples[type], named));
    }
}

static void the_fields_arrive_in_their_members(void **state)
{
    (void)state;
    struct message m;
    assert_int_equal(decode(samples[MESSAGE_PULL], &m), 0);
    assert_string_equal(m.u.request.model, "ns/m");
    message_release(&m);
    assert_int_equal(decode(samples[MESSAGE_ERROR], &m), 0);
    assert_string_equal(m.u.error.code, "busy");
    assert_string_equal(m.u.error.message, "text");
    assert_string_equal(m.u.error.path, "a/b");
    message_release(&m);
    assert_int_equal(decode(samples[MESSAGE_HOST], &m), 0);
    assert_int_equal(m.u.host.padding, 65536);
    message_release(&m);
    assert_int_equal(decode("{\"type\":\"host\"}", &m), 0);
    assert_int_equal(m.u.host.padding, 0);
    message_release(&m);
    assert_int_equal(decode(samples[MESSAGE_FACT], &m), 0);
    assert_string_equal(m.u.fact.name, "cpus");
    assert_string_equal(m.u.fact.value, "4");
    message_release(&m);
    assert_int_equal(decode(samples[MESSAGE_MODEL], &m), 0);
    assert_string_equal(m.u.model.name, "ns/m");
    assert_int_equal(m.u.model.mtime, -1);
    assert_int_equal(m.u.model.nsec, 999999999);
    assert_string_equal(m.u.model.state, "complete");
    message_release(&m);
    assert_int_equal(decode(samples[MESSAGE_CHECKED], &m), 0);
    assert_false(m.u.checked.ok);
    assert_int_equal(m.u.checked.bad.count, 2);
    assert_int_equal(m.u.checked.bad.values[1], 7);
    message_release(&m);
    assert_int_equal(decode(samples[MESSAGE_SERVER], &m), 0);
    assert_string_equal(m.u.server.version, "0.1.0");
    assert_int_equal(m.u.server.bytes_free, 2);
    assert_int_equal(m.u.server.max_streams, 64);
    assert_int_equal(m.u.server.cached, 8);
    message_release(&m);
    assert_int_equal(decode(samples[MESSAGE_SESSION], &m), 0);
    assert_string_equal(m.u.session.peer, "10.0.0.2:1234");
    assert_string_equal(m.u.session.request, "push");
    assert_string_equal(m.u.session.model, "ns/m");
    assert_int_equal(m.u.session.age, 4);
    message_release(&m);
    assert_int_equal(decode(samples[MESSAGE_FILES], &m), 0);
    assert_int_equal(m.u.files.count, 2);
    assert_int_equal(m.u.files.files[0].from, FROM_SEND);
    assert_int_equal(m.u.files.files[0].source, 7);
    assert_true(m.u.files.files[0].has_hash);
    assert_int_equal(m.u.files.files[0].hash[15], 0xff);
    assert_true(m.u.files.files[0].has_sha256 && m.u.files.files[0].has_git_blob);
    assert_int_equal(m.u.files.files[0].sha256[31], 0xff);
    assert_int_equal(m.u.files.files[0].git_blob[19], 0x67);
    assert_false(m.u.files.files[1].has_sha256 || m.u.files.files[1].has_git_blob);
    assert_string_equal(m.u.files.files[1].path, "\xff");
    assert_false(m.u.files.files[1].has_hash);
    assert_int_equal(m.u.files.files[1].from, FROM_NONE);
    message_release(&m);
    assert_int_equal(decode(samples[MESSAGE_STAGED], &m), 0);
    assert_int_equal(m.u.staged.hashes.count, 2);
    assert_int_equal(m.u.staged.hashes.bytes[17], 0x11);
    message_release(&m);
    assert_int_equal(decode(samples[MESSAGE_BLOCKS], &m), 0);
    assert_int_equal(m.u.blocks.first, 8192);
    message_release(&m);
}

/* -- surgery on a sample: its members as texts -- */

static bool is_optional(int type, const char *name)
{
    return (type == MESSAGE_ERROR && strcmp(name, "path") == 0) ||
           (type == MESSAGE_HOST && strcmp(name, "padding") == 0) ||
           (type == MESSAGE_SESSION && strcmp(name, "model") == 0) || strcmp(name, "flawed") == 0 ||
           strcmp(name, "origin") == 0;
}

/* Whether any text will do. */
static bool is_text(int type, const char *name)
{
    static const char *const names[] = {"code", "message", "version", "peer", "request"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return type == MESSAGE_FACT;
}

static void every_field_is_missed(void **state)
{
    (void)state;
    for (int type = 0; type < MESSAGE_TYPE_COUNT; type++) {
        struct member members[MOST_MEMBERS];
        size_t count = split(samples[type], members);
        for (size_t i = 0; i < count; i++) {
            char *name = name_of(members[i].text), *text = replace(samples[type], i, NULL);
            expect(text, is_optional(type, name));
            free(text);
            free(name);
        }
    }
}

static void every_field_must_have_its_type(void **state)
{
    (void)state;
    static const char *const values[] = {"null", "true", "7",         "\"x\"", "[]",
                                         "{}",   "[7]",  "{\"a\":1}", "-1.5",  "\"\""};
    for (int type = 0; type < MESSAGE_TYPE_COUNT; type++) {
        struct member members[MOST_MEMBERS];
        size_t count = split(samples[type], members);
        for (size_t i = 1; i < count; i++) {
            char *name = name_of(members[i].text);
            const char *sample = strchr(members[i].text, ':') + 1;
            for (size_t v = 0; v < COUNT_OF(values); v++) {
                char member[64];
                (void)snprintf(member, sizeof member, "\"%s\":%s", name, values[v]);
                char *text = replace(samples[type], i, member);
                if (strcmp(name, "state") == 0 && *values[v] == '"') { /* has a test of its own */
                    free(text);
                    continue;
                }
                bool number = (*sample >= '0' && *sample <= '9') || *sample == '-';
                bool good =
                    (number && strcmp(values[v], "7") == 0) ||
                    ((*sample == 't' || *sample == 'f') && strcmp(values[v], "true") == 0) ||
                    (*sample == '{' && values[v][0] == '{') ||
                    (*sample == '[' && strcmp(name, "bad") == 0 &&
                     (strcmp(values[v], "[]") == 0 || strcmp(values[v], "[7]") == 0)) ||
                    (*sample == '"' && strcmp(values[v], "\"x\"") == 0 &&
                     (is_text(type, name) || strcmp(name, "path") == 0 || strcmp(name, "origin") == 0)) ||
                    (*sample == '"' && strcmp(values[v], "\"\"") == 0 && is_text(type, name));
                expect(text, good);
                free(text);
            }
            free(name);
        }
    }
}

static void numbers_are_held_against_their_limits(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool size, time, nsec, padding;
    } cases[] = {
        {"0", true, true, true, true},
        {"1", true, true, true, true},
        {"65536", true, true, true, true},
        {"65537", true, true, true, false},
        {"999999999", true, true, true, false},
        {"1000000000", true, true, false, false},
        {"2147483647", true, true, false, false},
        {"2147483648", true, true, false, false},
        {"4294967295", true, true, false, false},
        {"9007199254740991", true, true, false, false},
        {"9007199254740992", false, false, false, false},
        {"9223372036854775808", false, false, false, false},
        {"18446744073709551615", false, false, false, false},
        {"1e400", false, false, false, false},
        {"-1", false, true, false, false},
        {"-9007199254740991", false, true, false, false},
        {"-9007199254740992", false, false, false, false},
        {"0.5", false, false, false, false},
    };
    for (int type = 0; type < MESSAGE_TYPE_COUNT; type++) {
        struct member members[MOST_MEMBERS];
        size_t count = split(samples[type], members);
        for (size_t i = 1; i < count; i++) {
            char *name = name_of(members[i].text);
            char first = strchr(members[i].text, ':')[1];
            for (size_t c = 0; c < COUNT_OF(cases) && ((first >= '0' && first <= '9') || first == '-'); c++) {
                char member[64];
                (void)snprintf(member, sizeof member, "\"%s\":%s", name, cases[c].value);
                char *text = replace(samples[type], i, member);
                expect(text, strcmp(name, "mtime") == 0     ? cases[c].time
                             : strcmp(name, "nsec") == 0    ? cases[c].nsec
                             : strcmp(name, "padding") == 0 ? cases[c].padding
                                                            : cases[c].size);
                free(text);
            }
            free(name);
        }
    }
}

static void unknown_fields_are_ignored_and_the_order_does_not_matter(void **state)
{
    (void)state;
    for (int type = 0; type < MESSAGE_TYPE_COUNT; type++) {
        char text[2048];
        struct message message;
        size_t length;
        (void)snprintf(text, sizeof text, "{\"extra\":[{\"a\":null}],%s", samples[type] + 1);
        text[strlen(text) - 1] = '\0';
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, ",\"type2\":5,\"Model\":\"x\"}");
        if (decode(text, &message) < 0)
            fail_msg("refused: %s", text);
        char *again = message_encode(&message, &length);
        assert_string_equal(again, samples[type]);
        free(again);
        message_release(&message);
    }
    expect("{\"total\":2,\"bytes\":1,\"type\":\"progress\"}", true);
}

static void a_session_without_a_model_stays_without(void **state)
{
    (void)state;
    static const char text[] = "{\"type\":\"session\",\"peer\":\"?\",\"request\":\"\",\"bytes\":0,\"rate\":0,"
                               "\"streams\":0,\"age\":0}";
    struct message message;
    size_t length;
    assert_int_equal(decode(text, &message), 0);
    assert_null(message.u.session.model);
    char *again = message_encode(&message, &length);
    assert_string_equal(again, text);
    free(again);
    message_release(&message);
    char *wrong = replace(samples[MESSAGE_SESSION], 3, "\"model\":\"../m\"");
    expect(wrong, false);
    free(wrong);
}

static void sources_of_53_bits_come_back_exactly(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int i = 0; i < 2000; i++) {
        struct message message = {.type = MESSAGE_FILES}, got;
        size_t length;
        random = random * 6364136223846793005u + 1442695040888963407u;
        plan_add(&message.u.files, "a", LIMIT_SIZE - (uint64_t)i, FROM_SEND);
        message.u.files.files[0].source = (random >> 11) | 1;
        char *text = message_encode(&message, &length);
        assert_int_equal(decode(text, &got), 0);
        assert_int_equal(got.u.files.files[0].source, message.u.files.files[0].source);
        assert_int_equal(got.u.files.files[0].size, message.u.files.files[0].size);
        message_release(&got);
        listing_release(&message.u.files);
        free(text);
    }
}

static void what_is_no_message_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{}",
                                        "[]",
                                        "5",
                                        "\"alive\"",
                                        "null",
                                        "{\"type\":\"\"}",
                                        "{\"type\":\"Alive\"}",
                                        "{\"type\":5}",
                                        "{\"type\":null}",
                                        "{\"type\":\"unknown\"}",
                                        "{\"type\":\"alive\"",
                                        "{\"type\":\"alive\"}x",
                                        "{\"Type\":\"alive\"}",
                                        "{\"type\":[\"alive\"]}",
                                        "{\"type\":\"alive\",\"x\":[[[[[[[[]]]]]]]]}"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        expect(wrong[i], false);
}

static void the_state_of_a_model_is_one_of_two_words(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        bool good;
    } cases[] = {{"complete", true}, {"incomplete", true}, {"", false}, {"Complete", false}, {"x", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char member[64];
        (void)snprintf(member, sizeof member, "\"state\":\"%s\"", cases[i].word);
        char *text = replace(samples[MESSAGE_MODEL], 6, member);
        expect(text, cases[i].good);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_survives_the_way_there_and_back),
        cmocka_unit_test(the_fields_arrive_in_their_members),
        cmocka_unit_test(every_field_is_missed),
        cmocka_unit_test(every_field_must_have_its_type),
        cmocka_unit_test(numbers_are_held_against_their_limits),
        cmocka_unit_test(unknown_fields_are_ignored_and_the_order_does_not_matter),
        cmocka_unit_test(a_session_without_a_model_stays_without),
        cmocka_unit_test(sources_of_53_bits_come_back_exactly),
        cmocka_unit_test(what_is_no_message_is_refused),
        cmocka_unit_test(the_state_of_a_model_is_one_of_two_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
