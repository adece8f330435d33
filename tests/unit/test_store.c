/* Models on disk: publishing, replacing, removing, listing, sweeping and opening a root. */
#include "store_bench.h"

/* -- versions -- */

/* Puts a version with the one file `name` of text `text` in place. */
static int try_publish(struct bench *b, const char *id, const char *name, const char *text, struct error *err)
{
    struct manifest manifest = {0};
    uint8_t hash[HASH_SIZE];
    struct file_entry entry = {.path = (char *)name, .size = strlen(text), .mtime = 1700000000};
    int lock = lock_file(b, id);
    if (store_lock_push(lock, id, "test", err) < 0) {
        (void)close(lock);
        return -1;
    }
    int staging = store_open_staging(&b->store, id, err);
    assert_true(staging >= 0);
    int tree = make_dir(staging, STAGING_TREE);
    write_file(tree, name, text, strlen(text));
    digest_block(text, strlen(text), hash);
    manifest_add(&manifest, &entry, 1700000000, 0, hash);
    manifest.summary.mtime = 1800000000;
    int result = store_publish(&b->store, id, lock, &manifest, err);
    manifest_release(&manifest);
    (void)close(tree);
    (void)close(staging);
    (void)close(lock);
    return result;
}

static void publish(struct bench *b, const char *id, const char *name, const char *text)
{
    struct error err = {0};
    if (try_publish(b, id, name, text, &err) < 0)
        fail_msg("%s", err.text);
}

static void remove_model(struct bench *b, const char *id)
{
    struct error err = {0};
    int lock = lock_file(b, id);
    assert_int_equal(store_lock_push(lock, id, "test", &err), 0);
    if (store_remove(&b->store, id, lock, &err) < 0)
        fail_msg("%s", err.text);
    (void)close(lock);
}

static void sweep(struct bench *b, unsigned days)
{
    atomic_bool stop = false;
    store_sweep(&b->store, days, &stop);
}

static void a_published_version_is_there_whole_and_plain(void **state)
{
    struct bench b;
    struct scratch *scratch = *state;
    begin(&b, scratch);
    publish(&b, "ns/m", "w.bin", "one");
    assert_true(file_equals(scratch->fd, "ns/m/w.bin", "one", 3));
    assert_false(is_there(scratch->fd, ".mstore/staging/ns"));
    assert_true(is_there(scratch->fd, ".mstore/meta/ns/m/1.json"));
    assert_true(is_there(scratch->fd, ".mstore/meta/ns/m/1.blocks"));
    end(&b);
}

static void a_new_version_replaces_the_old_one_and_leaves_it_to_its_readers(void **state)
{
    struct bench b;
    struct error err;
    struct stat st;
    struct scratch *scratch = *state;
    char text[16] = "";
    begin(&b, scratch);
    publish(&b, "ns/m", "w.bin", "one");
    int live = store_open_live(&b.store, "ns/m"), file = openat(live, "w.bin", O_RDONLY);
    int reader = lock_file(&b, "ns/m");
    assert_int_equal(fstat(live, &st), 0);
    assert_int_equal(store_pin(reader, st.st_ino, &err), 0);
    publish(&b, "ns/m", "v.bin", "two!");
    assert_true(file_equals(scratch->fd, "ns/m/v.bin", "two!", 4));
    assert_false(is_there(scratch->fd, "ns/m/w.bin"));
    assert_false(is_there(scratch->fd, ".mstore/meta/ns/m/1.json"));
    assert_true(is_there(scratch->fd, ".mstore/meta/ns/m/2.json"));
    assert_true(file_equals(live, "w.bin", "one", 3)); /* by the open folder */
    sweep(&b, 30);
    assert_true(file_equals(live, "w.bin", "one", 3)); /* the pin kept it from the sweep */
    (void)close(reader);
    sweep(&b, 30);
    assert_false(is_there(live, "w.bin"));
    assert_false(is_there(scratch->fd, ".mstore/trash/ns"));
    assert_int_equal(read(file, text, sizeof text), 3); /* and an open file outlives even that */
    assert_string_equal(text, "one");
    (void)close(file);
    (void)close(live);
    end(&b);
}

static void a_reader_never_sees_a_model_that_is_not_there(void **state)
{
    struct bench b;
    struct scratch *scratch = *state;
    begin(&b, scratch);
    publish(&b, "ns/m", "w.bin", "0");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) { /* looks all the time */
        for (int i = 0; i < 200000 && getppid() != 1; i++) {
            int fd = openat(scratch->fd, "ns/m", O_RDONLY | O_DIRECTORY);
            if (fd < 0)
                _exit(1);
            if (faccessat(fd, "w.bin", F_OK, 0) < 0)
                _exit(2);
            (void)close(fd);
            if (is_there(scratch->fd, "stop"))
                _exit(0);
        }
        _exit(0);
    }
    for (int i = 0; i < 15; i++)
        publish(&b, "ns/m", "w.bin", i % 2 ? "odd" : "even");
    write_file(scratch->fd, "stop", "", 0);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    end(&b);
}

static void a_model_that_was_copied_into_the_root_is_replaced_too(void **state)
{
    struct bench b;
    struct scratch *scratch = *state;
    begin(&b, scratch);
    int ns = make_dir(scratch->fd, "ns"), m = make_dir(ns, "m");
    write_file(m, "by-hand", "x", 1);
    publish(&b, "ns/m", "w.bin", "two");
    assert_true(file_equals(scratch->fd, "ns/m/w.bin", "two", 3));
    assert_false(is_there(scratch->fd, "ns/m/by-hand"));
    assert_true(is_there(m, "by-hand"));
    (void)close(m);
    (void)close(ns);
    end(&b);
}

static void nothing_is_published_without_a_tree(void **state)
{
    struct bench b;
    struct error err = {0};
    struct scratch *scratch = *state;
    begin(&b, scratch);
    publish(&b, "ns/m", "w.bin", "one");
    struct manifest manifest = {0};
    int lock = lock_file(&b, "ns/m");
    assert_int_equal(store_lock_push(lock, "ns/m", "test", &err), 0);
    assert_int_equal(store_publish(&b.store, "ns/m", lock, &manifest, &err), -1);
    (void)close(lock);
    assert_true(file_equals(scratch->fd, "ns/m/w.bin", "one", 3));
    assert_true(is_there(scratch->fd, ".mstore/meta/ns/m/1.json"));
    assert_false(
        is_there(scratch->fd, ".mstore/meta/ns/m/2.json")); /* the manifest of what was not published */
    end(&b);
}

static void a_link_in_the_place_of_a_namespace_leads_nowhere(void **state)
{
    struct bench b;
    struct error err = {0};
    struct scratch *scratch = *state;
    begin(&b, scratch);
    int outside = make_dir(scratch->fd, "outside"), m = make_dir(outside, "m");
    assert_int_equal(symlinkat("outside", scratch->fd, "ns"), 0);
    assert_int_equal(store_open_live(&b.store, "ns/m"), -1);
    assert_int_equal(try_publish(&b, "ns/m", "w.bin", "x", &err), -1);
    assert_true(is_there(outside, "m"));
    assert_false(is_there(m, "w.bin"));
    (void)close(m);
    (void)close(outside);
    end(&b);
}

static void removal_takes_the_model_its_manifest_and_its_staging(void **state)
{
    struct bench b;
    struct error err;
    struct stat st;
    struct scratch *scratch = *state;
    begin(&b, scratch);
    publish(&b, "ns/a", "w.bin", "one");
    publish(&b, "ns/b", "w.bin", "two");
    (void)close(store_open_staging(&b.store, "ns/a", &err));
    int live = store_open_live(&b.store, "ns/a"), reader = lock_file(&b, "ns/a");
    assert_int_equal(fstat(live, &st), 0);
    assert_int_equal(store_pin(reader, st.st_ino, &err), 0);
    remove_model(&b, "ns/a");
    assert_int_equal(store_open_live(&b.store, "ns/a"), -1);
    assert_int_equal(errno, ENOENT);
    assert_false(is_there(scratch->fd, ".mstore/meta/ns/a"));
    assert_false(is_there(scratch->fd, ".mstore/staging/ns"));
    assert_true(is_there(scratch->fd, "ns/b/w.bin"));
    sweep(&b, 30);
    assert_true(file_equals(live, "w.bin", "one", 3)); /* its reader still has it */
    (void)close(reader);
    (void)close(live);
    remove_model(&b, "ns/b");
    assert_false(is_there(scratch->fd, "ns")); /* an empty namespace goes, too */
    sweep(&b, 30);
    assert_false(is_there(scratch->fd, ".mstore/trash/ns"));
    publish(&b, "ns/a", "w.bin", "again");
    assert_true(file_equals(scratch->fd, "ns/a/w.bin", "again", 5));
    end(&b);
}

static void what_is_not_there_cannot_be_removed(void **state)
{
    struct bench b;
    struct error err;
    begin(&b, *state);
    int lock = lock_file(&b, "ns/m");
    assert_int_equal(store_remove(&b.store, "ns/m", lock, &err), -1);
    assert_int_equal(err.code, ERROR_NO_MODEL);
    assert_int_equal(store_lock_exclusive(lock, &err), 0);
    int other = lock_file(&b, "ns/m");
    struct flock probe = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
    assert_int_equal(fcntl(other, F_OFD_SETLK, &probe), -1);
    (void)close(lock);
    assert_int_equal(fcntl(other, F_OFD_SETLK, &probe), 0);
    (void)close(other);
    end(&b);
}

static void the_newest_manifest_takes_the_place_of_all_others(void **state)
{
    struct bench b;
    struct error err;
    struct manifest manifest = {0}, loaded;
    uint64_t generations[4];
    begin(&b, *state);
    publish(&b, "ns/m", "w.bin", "one");
    struct file_entry entry = {.path = (char *)"w.bin", .size = 3, .mtime = 5};
    manifest_add(&manifest, &entry, 5, 0, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(store_update_manifest(&b.store, "ns/m", &manifest, &err), 0);
    int meta = store_open_meta(&b.store, "ns/m", false);
    assert_int_equal(manifest_generations(meta, generations, 4), 1);
    assert_int_equal(generations[0], 4);
    assert_int_equal(manifest_load(&loaded, meta, 4, &err), 0);
    assert_int_equal(loaded.listing.files[0].mtime, 5);
    manifest_release(&loaded);
    manifest_release(&manifest);
    (void)close(meta);
    end(&b);
}

/* -- listing -- */

struct listed {
    char text[4096];
};

static void note_model(void *context, const struct message_model *model)
{
    struct listed *listed = context;
    size_t used = strlen(listed->text);
    (void)snprintf(listed->text + used, sizeof listed->text - used,
                   "%s %s files=%u bytes=%u present=%u warnings=%u\n", model->name, model->state,
                   (unsigned)model->files, (unsigned)model->bytes, (unsigned)model->present,
                   (unsigned)model->warnings);
}

static void models_of_every_kind_are_listed_in_order(void **state)
{
    struct bench b;
    struct error err;
    struct listed listed = {""};
    struct scratch *scratch = *state;
    begin(&b, scratch);
    publish(&b, "zeta/published", "w.bin", "12345");
    int ns = make_dir(scratch->fd, "alpha"), m = make_dir(ns, "foreign");
    write_file(m, "a", "1", 1);
    write_file(m, "b", "22", 2);
    write_file(m, ".DS_Store", "junk", 4);
    (void)close(make_dir(m, "@eaDir"));
    write_file(m, "@eaDir/x", "junk", 4);
    assert_int_equal(symlinkat("nowhere", m, "dangling"), 0);
    assert_int_equal(mkfifoat(m, "fifo", 0600), 0);
    (void)close(m);
    (void)close(make_dir(ns, "@eaDir"));
    (void)close(make_dir(ns, ".hidden"));
    (void)close(make_dir(ns, "a--b"));
    write_file(ns, "plainfile", "x", 1);
    assert_int_equal(symlinkat("foreign", ns, "alias"), 0);
    (void)close(make_dir(ns, "empty"));
    (void)close(ns);
    write_file(scratch->fd, "README", "x", 1);
    (void)close(make_dir(scratch->fd, "lost+found"));
    int staging = store_open_staging(&b.store, "mid/staged", &err);
    struct manifest_summary plan = {.files = 3, .bytes = 1000, .mtime = 5};
    assert_int_equal(store_save_plan(staging, &plan, &err), 0);
    struct journal *journal = NULL;
    struct file_entry entry = {.path = (char *)"x", .size = 300};
    assert_int_equal(journal_create(&journal, staging, &err), 0);
    assert_int_equal(journal_file(journal, 0, &entry, "t", &err), 0);
    assert_int_equal(journal_blocks(journal, 0, 0, (const uint8_t *)"0123456789abcdef", 1, &err), 0);
    assert_int_equal(journal_commit(journal, &err), 0);
    journal_destroy(&journal);
    (void)close(staging);
    (void)close(
        store_open_staging(&b.store, "mid/no-plan", &err)); /* a push that has announced nothing yet */
    assert_int_equal(store_list(&b.store, note_model, &listed, &err), 0);
    assert_string_equal(listed.text, "alpha/empty complete files=0 bytes=0 present=0 warnings=0\n"
                                     "alpha/foreign complete files=2 bytes=3 present=3 warnings=2\n"
                                     "mid/staged incomplete files=3 bytes=1000 present=300 warnings=0\n"
                                     "zeta/published complete files=1 bytes=5 present=5 warnings=0\n");
    listed.text[0] = '\0';
    assert_int_equal(store_describe(&b.store, "mid/staged", note_model, &listed, &err), 0);
    assert_string_equal(listed.text, "mid/staged incomplete files=3 bytes=1000 present=300 warnings=0\n");
    assert_int_equal(store_describe(&b.store, "mid/no-plan", note_model, &listed, &err), -1);
    assert_int_equal(err.code, ERROR_NO_MODEL);
    assert_int_equal(store_describe(&b.store, "alpha/alias", note_model, &listed, &err), -1);
    assert_int_equal(store_describe(&b.store, "no/such", note_model, &listed, &err), -1);
    assert_non_null(strstr(err.text, "'no/such'"));
    end(&b);
}

static void a_model_with_a_push_on_its_way_is_listed_once_as_it_is_served(void **state)
{
    struct bench b;
    struct error err;
    struct listed listed = {""};
    begin(&b, *state);
    publish(&b, "ns/m", "w.bin", "12345");
    int staging = store_open_staging(&b.store, "ns/m", &err);
    struct manifest_summary plan = {.files = 3, .bytes = 1000};
    assert_int_equal(store_save_plan(staging, &plan, &err), 0);
    (void)close(staging);
    assert_int_equal(store_list(&b.store, note_model, &listed, &err), 0);
    assert_string_equal(listed.text, "ns/m complete files=1 bytes=5 present=5 warnings=0\n");
    end(&b);
}

static void a_damaged_plan_or_manifest_hides_no_other_model(void **state)
{
    struct bench b;
    struct error err;
    struct listed listed = {""};
    struct scratch *scratch = *state;
    begin(&b, scratch);
    publish(&b, "ns/bad", "w.bin", "12345");
    publish(&b, "ns/good", "w.bin", "123");
    write_file(scratch->fd, ".mstore/meta/ns/bad/1.json", "{]", 2);
    int staging = store_open_staging(&b.store, "ns/odd", &err);
    write_file(staging, "plan.json", "\0\xff", 2);
    (void)close(staging);
    assert_int_equal(store_list(&b.store, note_model, &listed, &err), 0);
    assert_string_equal(listed.text, "ns/bad complete files=1 bytes=5 present=5 warnings=0\n"
                                     "ns/good complete files=1 bytes=3 present=3 warnings=0\n");
    end(&b);
}

/* -- sweeping -- */

static void old_stagings_go_and_young_or_locked_ones_stay(void **state)
{
    struct bench b;
    struct error err;
    struct scratch *scratch = *state;
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    static const char *const ids[] = {"ns/old", "ns/young", "ns/locked"};
    begin(&b, scratch);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        int staging = store_open_staging(&b.store, ids[i], &err);
        write_file(staging, JOURNAL_NAME, "x", 1);
        if (i != 1)
            assert_int_equal(utimensat(staging, JOURNAL_NAME, old, 0), 0);
        (void)close(staging);
    }
    int locked = lock_file(&b, "ns/locked");
    assert_int_equal(store_lock_push(locked, "ns/locked", "x", &err), 0);
    atomic_bool stop = true;
    store_sweep(&b.store, 1, &stop);
    assert_true(is_there(scratch->fd, ".mstore/staging/ns/old")); /* it was told to stop */
    sweep(&b, 1);
    assert_false(is_there(scratch->fd, ".mstore/staging/ns/old"));
    assert_true(is_there(scratch->fd, ".mstore/staging/ns/young"));
    assert_true(is_there(scratch->fd, ".mstore/staging/ns/locked"));
    assert_false(is_there(scratch->fd, ".mstore/trash/ns"));
    (void)close(locked);
    end(&b);
}

/* -- opening -- */

static void a_root_can_be_opened_twice_and_through_a_link(void **state)
{
    struct bench b;
    struct store second;
    struct error err;
    struct scratch *scratch = *state;
    char link[300];
    begin(&b, scratch);
    (void)snprintf(link, sizeof link, "%s/link", scratch->path);
    assert_int_equal(symlinkat(".", scratch->fd, "link"), 0);
    assert_int_equal(store_open(&second, link, &err), 0);
    store_close(&second);
    end(&b);
}

static void a_root_that_is_no_folder_is_refused_by_name(void **state)
{
    struct store store;
    struct error err;
    struct scratch *scratch = *state;
    char path[300];
    int fds = count_fds();
    (void)snprintf(path, sizeof path, "%s/missing", scratch->path);
    assert_int_equal(store_open(&store, path, &err), -1);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(err.sys, ENOENT);
    write_file(scratch->fd, ".mstore", "in the way", 10);
    assert_int_equal(store_open(&store, scratch->path, &err), -1);
    assert_non_null(strstr(err.text, scratch->path));
    assert_int_equal(count_fds(), fds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(a_published_version_is_there_whole_and_plain),
        scratch_test(a_new_version_replaces_the_old_one_and_leaves_it_to_its_readers),
        scratch_test(a_reader_never_sees_a_model_that_is_not_there),
        scratch_test(a_model_that_was_copied_into_the_root_is_replaced_too),
        scratch_test(nothing_is_published_without_a_tree),
        scratch_test(a_link_in_the_place_of_a_namespace_leads_nowhere),
        scratch_test(removal_takes_the_model_its_manifest_and_its_staging),
        scratch_test(what_is_not_there_cannot_be_removed),
        scratch_test(the_newest_manifest_takes_the_place_of_all_others),
        scratch_test(models_of_every_kind_are_listed_in_order),
        scratch_test(a_model_with_a_push_on_its_way_is_listed_once_as_it_is_served),
        scratch_test(a_damaged_plan_or_manifest_hides_no_other_model),
        scratch_test(old_stagings_go_and_young_or_locked_ones_stay),
        scratch_test(a_root_can_be_opened_twice_and_through_a_link),
        scratch_test(a_root_that_is_no_folder_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
