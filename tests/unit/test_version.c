/* A version held against the files: what is unchanged keeps its proof, what changed never does. */
#include "support.h"

#include "common/staging.h"
#include "server/version.h"

#define MTIME 1700000000

struct bench {
    struct store store;
    int fds, model; /* the folder of ns/m */
};

static void begin(struct bench *b, struct scratch *scratch)
{
    struct error err;
    b->fds = count_fds();
    b->model = -1;
    if (store_open(&b->store, scratch->path, &err) < 0)
        fail_msg("%s", err.text);
}

static void end(struct bench *b)
{
    if (b->model >= 0)
        (void)close(b->model);
    store_close(&b->store);
    assert_int_equal(count_fds(), b->fds);
}

static void set_mtime(int folder, const char *path, int64_t seconds, long ns)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds, .tv_nsec = ns}};
    assert_int_equal(utimensat(folder, path, times, 0), 0);
}

static void hash_of(const char *text, uint8_t hash[HASH_SIZE])
{
    digest_block(text, strlen(text), hash);
}

/* Publishes ns/m with the files a, b and sub/c, each with its hash; on disk their mtime is 5 ns later. */
static void publish(struct bench *b)
{
    static const char *const names[] = {"a", "b", "sub/c"};
    struct manifest manifest = {0};
    struct error err = {0};
    int lock = store_lock_file(&b->store, "ns/m", &err);
    assert_int_equal(store_lock_push(lock, "ns/m", "test", &err), 0);
    int staging = store_open_staging(&b->store, "ns/m", &err), tree = make_dir(staging, STAGING_TREE);
    (void)close(make_dir(tree, "sub"));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        uint8_t hash[HASH_SIZE];
        struct file_entry entry = {
            .path = (char *)names[i], .size = strlen(names[i]), .mtime = MTIME, .nsec = 1};
        write_file(tree, names[i], names[i], strlen(names[i]));
        set_mtime(tree, names[i], MTIME, 5);
        hash_of(names[i], hash);
        manifest_add(&manifest, &entry, MTIME, 5, hash);
    }
    struct stat st;
    assert_int_equal(fstat(tree, &st), 0);
    manifest.summary.mtime = 1800000000;
    manifest.summary.folder = st.st_ino;
    if (store_publish(&b->store, "ns/m", lock, &manifest, &err) < 0)
        fail_msg("%s", err.text);
    manifest_release(&manifest);
    (void)close(tree);
    (void)close(staging);
    (void)close(lock);
    b->model = store_open_live(&b->store, "ns/m");
    assert_true(b->model >= 0);
}

static void open_version(struct bench *b, struct version *v)
{
    struct error err = {0};
    if (version_open(v, &b->store, "ns/m", &err) < 0)
        fail_msg("%s", err.text);
}

/* "a+ b- …": the files in order, + with hashes. */
static void expect_files(const struct version *v, const char *wanted)
{
    char text[1024] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    assert_non_null(out);
    for (uint32_t i = 0; i < v->manifest.listing.count; i++) {
        bool known = version_hash(v, i, 0) != NULL;
        assert_int_equal(v->manifest.listing.files[i].has_hash, known);
        (void)fprintf(out, "%s%s%c", i ? " " : "", v->manifest.listing.files[i].path, known ? '+' : '-');
    }
    (void)fclose(out);
    assert_string_equal(text, wanted);
    assert_int_equal(v->manifest.summary.files, v->manifest.listing.count);
    assert_int_equal(v->manifest.summary.bytes, listing_bytes(&v->manifest.listing));
}

static int64_t number_of(const struct version *v, const char *path)
{
    for (uint32_t i = 0; i < v->manifest.listing.count; i++)
        if (strcmp(v->manifest.listing.files[i].path, path) == 0)
            return i;
    return -1;
}

static void an_untouched_version_has_all_its_hashes(void **state)
{
    struct bench b;
    struct version v;
    uint8_t hash[HASH_SIZE], file_hash[HASH_SIZE];
    begin(&b, *state);
    publish(&b);
    open_version(&b, &v);
    expect_files(&v, "a+ b+ sub/c+");
    hash_of("sub/c", hash);
    assert_memory_equal(version_hash(&v, 2, 0), hash, HASH_SIZE);
    digest_file(hash, 1, 5, file_hash);
    assert_memory_equal(v.manifest.listing.files[2].hash, file_hash, HASH_SIZE);
    assert_int_equal(v.manifest.listing.files[2].nsec, 1); /* the pusher's */
    struct file_entry disk = version_disk_entry(&v, 2);
    assert_int_equal(disk.mtime, MTIME);
    assert_int_equal(disk.nsec, 5); /* the disk's */
    assert_string_equal(disk.path, "sub/c");
    assert_int_equal(v.manifest.summary.mtime, 1800000000);
    assert_int_equal(v.warnings, 0);
    assert_int_equal(v.missing, 0);
    int fd = version_open_file(&v, 2);
    char text[8] = "";
    assert_int_equal(read(fd, text, sizeof text), 5);
    assert_string_equal(text, "sub/c");
    (void)close(fd);
    version_close(&v);
    end(&b);
}

static void a_changed_file_loses_its_hash_and_an_added_one_appears(void **state)
{
    struct bench b;
    struct version v;
    begin(&b, *state);
    publish(&b);
    write_file(b.model, "a", "longer", 6); /* another size */
    set_mtime(b.model, "a", MTIME, 5);
    set_mtime(b.model, "b", MTIME, 6); /* another mtime, by one nanosecond */
    write_file(b.model, "added", "x", 1);
    write_file(b.model, "sub/added", "y", 1);
    open_version(&b, &v);
    expect_files(&v, "a- added- b- sub/added- sub/c+");
    assert_int_equal(v.manifest.listing.files[0].size, 6);
    assert_int_equal(v.manifest.listing.files[2].nsec, 6);
    assert_int_equal(v.missing, 0);
    version_close(&v);
    end(&b);
}

static void a_restored_mtime_and_size_keep_the_proof_whatever_the_inode(void **state)
{
    struct bench b;
    struct version v;
    begin(&b, *state);
    publish(&b);
    assert_int_equal(unlinkat(b.model, "b", 0), 0);
    write_file(b.model, "b", "b", 1);
    set_mtime(b.model, "b", MTIME, 5);
    open_version(&b, &v);
    expect_files(&v, "a+ b+ sub/c+");
    version_close(&v);
    end(&b);
}

static void a_missing_file_is_counted_and_named(void **state)
{
    struct bench b;
    struct version v;
    begin(&b, *state);
    publish(&b);
    assert_int_equal(unlinkat(b.model, "sub/c", 0), 0);
    assert_int_equal(unlinkat(b.model, "b", 0), 0);
    (void)close(make_dir(b.model, "b")); /* a folder in its place is no file */
    open_version(&b, &v);
    expect_files(&v, "a+");
    assert_int_equal(v.missing, 2);
    assert_string_equal(v.first_missing, "b");
    version_close(&v);
    end(&b);
}

static void links_and_special_files_are_counted_and_never_served(void **state)
{
    struct bench b;
    struct version v;
    begin(&b, *state);
    publish(&b);
    assert_int_equal(symlinkat("a", b.model, "link"), 0);
    assert_int_equal(symlinkat("nowhere", b.model, "dangling"), 0);
    assert_int_equal(symlinkat("sub", b.model, "folder-link"), 0);
    assert_int_equal(mkfifoat(b.model, "fifo", 0600), 0);
    assert_int_equal(unlinkat(b.model, "b", 0), 0);
    assert_int_equal(symlinkat("a", b.model, "b"), 0); /* a file of the manifest became a link */
    open_version(&b, &v);
    expect_files(&v, "a+ sub/c+");
    assert_int_equal(v.warnings, 5);
    assert_int_equal(v.missing, 1);
    assert_string_equal(v.first_missing, "b");
    version_close(&v);
    end(&b);
}

static void a_file_that_becomes_a_fifo_or_a_link_later_blocks_nobody(void **state)
{
    struct bench b;
    struct version v;
    begin(&b, *state);
    publish(&b);
    open_version(&b, &v);
    assert_int_equal(unlinkat(b.model, "a", 0), 0);
    assert_int_equal(unlinkat(b.model, "b", 0), 0);
    assert_int_equal(unlinkat(b.model, "sub/c", 0), 0);
    assert_int_equal(mkfifoat(b.model, "a", 0600), 0);
    assert_int_equal(symlinkat("/etc/passwd", b.model, "b"), 0);
    int fd = version_open_file(&v, 0);
    if (fd >= 0)
        (void)close(fd);
    assert_int_equal(version_open_file(&v, 1), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(version_open_file(&v, 2), -1);
    assert_int_equal(errno, ENOENT);
    version_close(&v);
    end(&b);
}

static void a_foreign_model_is_served_without_junk(void **state)
{
    struct bench b;
    struct version v;
    struct scratch *scratch = *state;
    begin(&b, scratch);
    (void)close(make_dir(scratch->fd, "ns"));
    (void)close(make_dir(scratch->fd, "ns/m"));
    b.model = store_open_live(&b.store, "ns/m");
    write_file(b.model, "w.bin", "x", 1);
    set_mtime(b.model, "w.bin", 1234, 5);
    write_file(b.model, "older", "x", 1);
    set_mtime(b.model, "older", 1000, 0);
    write_file(b.model, "._w.bin", "x", 1);
    write_file(b.model, ".dotfile", "x", 1);
    set_mtime(b.model, ".dotfile", 1000, 0);
    (void)close(make_dir(b.model, "@eaDir"));
    write_file(b.model, "@eaDir/w", "x", 1);
    (void)close(make_dir(b.model, ".cache"));
    (void)close(make_dir(b.model, ".cache/huggingface"));
    write_file(b.model, ".cache/huggingface/lock", "x", 1);
    write_file(b.model, ".cache/mine", "x", 1);
    set_mtime(b.model, ".cache/mine", 1000, 0);
    set_mtime(scratch->fd, "ns/m", 1234, 4);
    open_version(&b, &v);
    expect_files(&v, ".cache/mine- .dotfile- older- w.bin-");
    assert_int_equal(v.manifest.summary.mtime, 1234);
    assert_int_equal(v.manifest.summary.nsec, 5);
    version_close(&v);
    set_mtime(scratch->fd, "ns/m", 2345, 6); /* something was taken out, or renamed */
    open_version(&b, &v);
    assert_int_equal(v.manifest.summary.mtime, 2345);
    assert_int_equal(v.manifest.summary.nsec, 6);
    version_close(&v);
    end(&b);
}

static void junk_that_was_pushed_is_served(void **state)
{
    struct bench b;
    struct version v;
    struct error err;
    struct manifest manifest = {0};
    begin(&b, *state);
    publish(&b);
    (void)close(make_dir(b.model, "__pycache__"));
    write_file(b.model, "__pycache__/x", "1", 1);
    write_file(b.model, ".DS_Store", "2", 1);
    write_file(b.model, "__pycache__/._y", "3", 1);
    static const char *const names[] = {"__pycache__/x", ".DS_Store"};
    for (size_t i = 0; i < 2; i++) {
        struct file_entry entry = {.path = (char *)names[i], .size = 1, .mtime = 9};
        set_mtime(b.model, names[i], 9, 0);
        manifest_add(&manifest, &entry, 9, 0, NULL);
    }
    assert_int_equal(store_update_manifest(&b.store, "ns/m", &manifest, &err), 0);
    manifest_release(&manifest);
    open_version(&b, &v);
    expect_files(&v, ".DS_Store- __pycache__/x- a- b- sub/c-");
    version_close(&v);
    end(&b);
}

static void no_model_is_an_error_of_its_own(void **state)
{
    struct bench b;
    struct version v;
    struct error err;
    struct scratch *scratch = *state;
    begin(&b, scratch);
    assert_int_equal(version_open(&v, &b.store, "ns/m", &err), -1);
    assert_int_equal(err.code, ERROR_NO_MODEL);
    (void)close(make_dir(scratch->fd, "ns"));
    write_file(scratch->fd, "ns/m", "", 0);
    assert_int_equal(version_open(&v, &b.store, "ns/m", &err), -1);
    assert_int_equal(err.code, ERROR_NO_MODEL);
    end(&b);
}

static void an_open_version_is_pinned(void **state)
{
    struct bench b;
    struct version v;
    struct error err;
    struct stat st;
    begin(&b, *state);
    publish(&b);
    assert_int_equal(fstat(b.model, &st), 0);
    int other = store_lock_file(&b.store, "ns/m", &err);
    assert_false(store_is_pinned(other, st.st_ino));
    open_version(&b, &v);
    assert_true(store_is_pinned(other, st.st_ino));
    assert_int_equal(store_lock_exclusive(other, &err), 0); /* byte 1 was let go of */
    version_close(&v);
    assert_false(store_is_pinned(other, st.st_ino));
    (void)close(other);
    end(&b);
}

/* After a crash between saving a manifest and switching the folders there are two; the files say which is
 * true. */
static void of_two_manifests_the_one_that_fits_is_taken(void **state)
{
    struct bench b;
    struct version v;
    struct error err;
    struct manifest future = {0};
    uint8_t hash[HASH_SIZE] = {7};
    begin(&b, *state);
    publish(&b);
    struct file_entry entry = {.path = (char *)"a", .size = 99, .mtime = 9};
    manifest_add(&future, &entry, 9, 0, hash);
    int meta = store_open_meta(&b.store, "ns/m", false);
    assert_int_equal(manifest_save(&future, meta, 2, &err), 0);
    manifest_release(&future);
    open_version(&b, &v);
    expect_files(&v, "a+ b+ sub/c+");
    version_close(&v);
    write_file(meta, "1.blocks", "torn",
               4); /* and where none can be read, nothing is known, and nothing wrong */
    open_version(&b, &v);
    expect_files(&v, "a- b- sub/c-");
    version_close(&v);
    (void)close(meta);
    end(&b);
}

/* -- learning -- */

static void learn(struct version *v, const char *path, const char *text)
{
    uint8_t hash[HASH_SIZE];
    hash_of(text, hash);
    version_learn(v, (uint32_t)number_of(v, path), 0, hash);
}

static void what_was_learned_is_there_next_time(void **state)
{
    struct bench b;
    struct version v;
    struct stat st;
    struct error err = {0};
    begin(&b, *state);
    publish(&b);
    write_file(b.model, "new", "text", 4);
    write_file(b.model, "b", "BB", 2);
    open_version(&b, &v);
    expect_files(&v, "a+ b- new- sub/c+");
    version_note_flawed(&v, true);
    learn(&v, "new", "text");
    assert_int_equal(version_save_learned(&v, &b.store, &err), 0);
    version_close(&v);
    open_version(&b, &v);
    expect_files(&v, "a+ b- new+ sub/c+");
    uint8_t hash[HASH_SIZE];
    hash_of("text", hash);
    assert_memory_equal(version_hash(&v, 2, 0), hash, HASH_SIZE);
    hash_of("sub/c", hash);
    assert_memory_equal(version_hash(&v, 3, 0), hash, HASH_SIZE);
    assert_int_equal(v.manifest.listing.files[3].nsec, 1); /* the pusher's mtime survived */
    assert_int_equal(fstat(b.model, &st), 0);              /* "new" came later than what was published */
    assert_int_equal(v.manifest.summary.mtime, st.st_mtim.tv_sec);
    assert_true(v.manifest.summary.flawed);
    version_note_flawed(&v, false); /* that alone is kept, too */
    assert_int_equal(version_save_learned(&v, &b.store, &err), 0);
    version_close(&v);
    open_version(&b, &v);
    expect_files(&v, "a+ b- new+ sub/c+");
    assert_false(v.manifest.summary.flawed);
    version_close(&v);
    end(&b);
}

/* Only who reads the headers again may say that it is mended: not a pull that learns the hash of a file. */
static void a_flaw_outlives_a_change(void **state)
{
    struct bench b;
    struct version v;
    struct error err = {0};
    begin(&b, *state);
    publish(&b);
    open_version(&b, &v);
    version_note_flawed(&v, true);
    assert_int_equal(version_save_learned(&v, &b.store, &err), 0);
    version_close(&v);
    write_file(b.model, "new", "text", 4);
    open_version(&b, &v);
    learn(&v, "new", "text");
    assert_int_equal(version_save_learned(&v, &b.store, &err), 0);
    version_close(&v);
    open_version(&b, &v);
    expect_files(&v, "a+ b+ new+ sub/c+");
    assert_true(v.manifest.summary.flawed);
    version_close(&v);
    end(&b);
}

static void a_missing_file_is_not_forgotten(void **state)
{
    struct bench b;
    struct version v;
    struct error err = {0};
    begin(&b, *state);
    publish(&b);
    assert_int_equal(renameat(b.model, "a", b.model, "renamed"), 0);
    for (int time = 0; time < 2; time++) {
        open_version(&b, &v);
        assert_int_equal(v.missing, 1);
        assert_string_equal(v.first_missing, "a");
        learn(&v, "renamed", "a");
        assert_int_equal(version_save_learned(&v, &b.store, &err), 0);
        version_close(&v);
    }
    end(&b);
}

static void a_foreign_model_can_be_learned(void **state)
{
    struct bench b;
    struct version v;
    struct error err;
    struct scratch *scratch = *state;
    begin(&b, scratch);
    (void)close(make_dir(scratch->fd, "ns"));
    (void)close(make_dir(scratch->fd, "ns/m"));
    write_file(scratch->fd, "ns/m/w", "text", 4);
    write_file(scratch->fd, "ns/m/empty", "", 0);
    open_version(&b, &v);
    learn(&v, "w", "text");
    learn(&v, "empty", "");
    assert_int_equal(version_save_learned(&v, &b.store, &err), 0);
    version_close(&v);
    open_version(&b, &v);
    expect_files(&v, "empty+ w+");
    version_close(&v);
    end(&b);
}

static void half_a_file_is_not_learned(void **state)
{
    struct bench b;
    struct version v;
    struct error err;
    uint8_t hash[HASH_SIZE] = {1};
    struct scratch *scratch = *state;
    begin(&b, scratch);
    publish(&b);
    write_file(b.model, "big", "", 0);
    int fd = openat(b.model, "big", O_WRONLY);
    assert_int_equal(ftruncate(fd, (off_t)(2 * BLOCK_SIZE + 1)), 0);
    (void)close(fd);
    open_version(&b, &v);
    uint32_t file = (uint32_t)number_of(&v, "big");
    version_learn(&v, file, 0, hash);
    version_learn(&v, file, 2, hash);
    version_learn(&v, file, 2, hash); /* twice is once */
    assert_int_equal(version_save_learned(&v, &b.store, &err), 0);
    assert_false(is_there(scratch->fd, ".mstore/meta/ns/m/2.json"));
    version_learn(&v, file, 1, hash);
    assert_int_equal(version_save_learned(&v, &b.store, &err), 0);
    version_close(&v);
    open_version(&b, &v);
    expect_files(&v, "a+ b+ big+ sub/c+");
    version_close(&v);
    end(&b);
}

static void a_file_that_changed_after_it_was_read_is_not_learned(void **state)
{
    struct bench b;
    struct version v;
    struct error err;
    begin(&b, *state);
    publish(&b);
    write_file(b.model, "new", "text", 4);
    open_version(&b, &v);
    learn(&v, "new", "text");
    write_file(b.model, "new", "TEXT", 4);
    set_mtime(b.model, "new", MTIME, 77);
    assert_int_equal(version_save_learned(&v, &b.store, &err), 0);
    version_close(&v);
    open_version(&b, &v);
    expect_files(&v, "a+ b+ new- sub/c+");
    version_close(&v);
    end(&b);
}

static void nothing_is_learned_while_a_push_holds_the_model_or_after_it_was_replaced(void **state)
{
    struct bench b;
    struct version v;
    struct error err;
    struct scratch *scratch = *state;
    begin(&b, scratch);
    publish(&b);
    write_file(b.model, "new", "text", 4);
    open_version(&b, &v);
    learn(&v, "new", "text");
    int lock = store_lock_file(&b.store, "ns/m", &err);
    assert_int_equal(store_lock_push(lock, "ns/m", "test", &err), 0);
    assert_int_equal(version_save_learned(&v, &b.store, &err), 0);
    assert_false(is_there(scratch->fd, ".mstore/meta/ns/m/2.json"));
    (void)close(lock);
    (void)close(b.model);
    publish(&b); /* generation 2 */
    assert_int_equal(version_save_learned(&v, &b.store, &err), 0);
    assert_true(is_there(scratch->fd, ".mstore/meta/ns/m/2.json"));
    assert_false(is_there(scratch->fd, ".mstore/meta/ns/m/3.json"));
    version_close(&v);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(an_untouched_version_has_all_its_hashes),
        scratch_test(a_changed_file_loses_its_hash_and_an_added_one_appears),
        scratch_test(a_restored_mtime_and_size_keep_the_proof_whatever_the_inode),
        scratch_test(a_missing_file_is_counted_and_named),
        scratch_test(links_and_special_files_are_counted_and_never_served),
        scratch_test(a_file_that_becomes_a_fifo_or_a_link_later_blocks_nobody),
        scratch_test(a_foreign_model_is_served_without_junk),
        scratch_test(junk_that_was_pushed_is_served),
        scratch_test(no_model_is_an_error_of_its_own),
        scratch_test(an_open_version_is_pinned),
        scratch_test(of_two_manifests_the_one_that_fits_is_taken),
        scratch_test(what_was_learned_is_there_next_time),
        scratch_test(a_flaw_outlives_a_change),
        scratch_test(a_missing_file_is_not_forgotten),
        scratch_test(a_foreign_model_can_be_learned),
        scratch_test(half_a_file_is_not_learned),
        scratch_test(a_file_that_changed_after_it_was_read_is_not_learned),
        scratch_test(nothing_is_learned_while_a_push_holds_the_model_or_after_it_was_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
