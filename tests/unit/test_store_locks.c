/* Locks and pins of a model, between threads and processes. */
#include "store_bench.h"

static void one_push_at_a_time_and_the_other_learns_whose(void **state)
{
    struct bench b;
    struct error err = {0};
    begin(&b, *state);
    int first = lock_file(&b, "ns/m"), second = lock_file(&b, "ns/m"), other = lock_file(&b, "ns/n");
    assert_int_equal(store_lock_push(first, "ns/m", "10.0.0.1:1234", &err), 0);
    assert_int_equal(store_lock_push(second, "ns/m", "10.0.0.2:99", &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    assert_non_null(strstr(err.text, "'ns/m'"));
    assert_non_null(strstr(err.text, "10.0.0.1:1234 since 20"));
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(store_lock_push(second, "ns/m", "10.0.0.2:99", &err), -1);
    assert_non_null(strstr(err.text, "10.0.0.1:1234")); /* who was refused left no trace */
    assert_int_equal(store_lock_push(other, "ns/n", "x", &err), 0);
    (void)close(first);
    assert_int_equal(store_lock_push(second, "ns/m", "10.0.0.2:99", &err), 0);
    first = lock_file(&b, "ns/m");
    assert_int_equal(store_lock_push(first, "ns/m", "y", &err), -1);
    assert_non_null(strstr(err.text, "10.0.0.2:99"));
    (void)close(first);
    (void)close(second);
    (void)close(other);
    end(&b);
}

static void the_name_of_an_owner_may_have_any_length(void **state)
{
    struct bench b;
    struct error err = {0};
    char owner[1000];
    begin(&b, *state);
    for (size_t length = 0; length < sizeof owner; length += 37) {
        memset(owner, 'o', sizeof owner);
        owner[length] = '\0';
        int first = lock_file(&b, "ns/m"), second = lock_file(&b, "ns/m");
        assert_int_equal(store_lock_push(first, "ns/m", owner, &err), 0);
        assert_int_equal(store_lock_push(second, "ns/m", "x", &err), -1);
        assert_int_equal(err.code, ERROR_BUSY);
        for (const char *c = err.text; *c; c++)
            assert_true(*c >= ' ' && *c <= '~');
        struct stat st;
        assert_int_equal(fstat(first, &st), 0);
        assert_true(st.st_size <= 257); /* not more than the text that was made */
        (void)close(first);
        (void)close(second);
    }
    end(&b);
}

static void the_lock_file_stays_where_it_is(void **state)
{
    struct bench b;
    struct error err;
    struct stat before, after;
    begin(&b, *state);
    int fd = lock_file(&b, "ns/m");
    assert_int_equal(fstat(fd, &before), 0);
    assert_int_equal(store_lock_push(fd, "ns/m", "x", &err), 0);
    assert_int_equal(store_remove(&b.store, "ns/m", fd, &err), -1);
    assert_int_equal(err.code, ERROR_NO_MODEL);
    (void)close(fd);
    fd = lock_file(&b, "ns/m");
    assert_int_equal(fstat(fd, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    (void)close(fd);
    end(&b);
}

static void shared_and_exclusive_exclude_each_other(void **state)
{
    struct bench b;
    struct error err;
    begin(&b, *state);
    int one = lock_file(&b, "ns/m"), two = lock_file(&b, "ns/m");
    struct flock probe = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
    assert_int_equal(store_lock_shared(one, &err), 0);
    assert_int_equal(store_lock_shared(two, &err), 0);
    assert_int_equal(fcntl(two, F_OFD_SETLK, &probe), -1);
    store_unlock(one);
    assert_int_equal(store_lock_exclusive(two, &err), 0);
    probe.l_type = F_RDLCK;
    assert_int_equal(fcntl(one, F_OFD_SETLK, &probe), -1);
    assert_int_equal(store_lock_push(one, "ns/m", "x", &err), 0); /* another byte */
    store_unlock(two);
    assert_int_equal(store_lock_shared(one, &err), 0);
    (void)close(one);
    (void)close(two);
    end(&b);
}

static void a_pin_holds_until_its_descriptor_is_closed(void **state)
{
    static const uint64_t inodes[] = {0, 1, 2, 12345, (uint64_t)1 << 31, UINT32_MAX, ((uint64_t)1 << 61) + 5};
    struct bench b;
    struct error err;
    begin(&b, *state);
    int reader = lock_file(&b, "ns/m"), sweeper = lock_file(&b, "ns/m");
    for (size_t i = 0; i < COUNT_OF(inodes); i++) {
        assert_false(store_is_pinned(sweeper, inodes[i]));
        assert_int_equal(store_pin(reader, inodes[i], &err), 0);
        assert_true(store_is_pinned(sweeper, inodes[i]));
        assert_false(store_is_pinned(sweeper, inodes[i] + 1));
    }
    assert_int_equal(store_lock_push(sweeper, "ns/m", "x", &err), 0); /* pins are in nobody's way */
    assert_int_equal(store_lock_exclusive(sweeper, &err), 0);
    (void)close(reader);
    for (size_t i = 0; i < COUNT_OF(inodes); i++)
        assert_false(store_is_pinned(sweeper, inodes[i]));
    (void)close(sweeper);
    end(&b);
}

/* In shared memory: how many hold the lock, and whether there were ever two. */
struct count {
    atomic_int inside, together, rounds;
};

static void lock_often(const char *root, struct count *count, int rounds)
{
    struct store store;
    struct error err;
    if (store_open(&store, root, &err) < 0) {
        count->together = 1000;
        return;
    }
    while (rounds > 0) {
        int fd = store_lock_file(&store, "ns/m", &err);
        if (fd < 0) {
            count->together = 1000;
            break;
        }
        if (store_lock_push(fd, "ns/m", "someone", &err) == 0) {
            if (atomic_fetch_add(&count->inside, 1) != 0)
                atomic_fetch_add(&count->together, 1);
            (void)usleep(50);
            atomic_fetch_sub(&count->inside, 1);
            atomic_fetch_add(&count->rounds, 1);
            rounds--;
        }
        (void)close(fd);
    }
    store_close(&store);
}

struct locker {
    const char *root;
    struct count *count;
};

static void *locker_thread_main(void *context)
{
    struct locker *locker = context;
    lock_often(locker->root, locker->count, 25);
    return NULL;
}

static void two_never_hold_the_lock_at_once(void **state)
{
    struct scratch *scratch = *state;
    struct count *count =
        mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(count != MAP_FAILED);
    pid_t children[6];
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            lock_often(scratch->path, count, 25);
            _exit(0);
        }
    }
    pthread_t threads[6];
    struct locker locker = {scratch->path, count};
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, locker_thread_main, &locker), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count->together, 0);
    assert_int_equal(count->rounds, 12 * 25);
    (void)munmap(count, sizeof *count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(one_push_at_a_time_and_the_other_learns_whose),
        scratch_test(the_name_of_an_owner_may_have_any_length),
        scratch_test(the_lock_file_stays_where_it_is),
        scratch_test(shared_and_exclusive_exclude_each_other),
        scratch_test(a_pin_holds_until_its_descriptor_is_closed),
        scratch_test(two_never_hold_the_lock_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
