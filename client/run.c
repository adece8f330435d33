/* run: get, then become the command.
 *
 * The command takes this process's place rather than being its child: so it has the terminal, the signals,
 * the parent and the exit status that it would have without us, and there is nothing in between that could be
 * killed alone. The hold goes with an open file that it inherits, and its children do, too: the model is in
 * use until the last of them ends or closes it. */
#include "client/cache_get.h"
#include "client/commands.h"
#include "client/interrupt.h"
#include "client/output.h"
#include "client/warm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As shells have it (POSIX, Shell Command Language, 2.8.2). */
#define STATUS_NOT_FOUND      127
#define STATUS_NOT_EXECUTABLE 126

#define PLACE "{}"

/* A copy of `word` with the path for every {}; free() it. */
static char *fill_in(const char *word, const char *path)
{
    size_t places = 0, path_length = strlen(path);
    for (const char *at = word; (at = strstr(at, PLACE)) != NULL; at += sizeof PLACE - 1)
        places++;
    char *filled = malloc(strlen(word) + places * path_length + 1), *to = filled;
    if (!filled)
        abort();
    for (const char *at; (at = strstr(word, PLACE)) != NULL; word = at + sizeof PLACE - 1) {
        memcpy(to, word, (size_t)(at - word));
        to += at - word;
        memcpy(to, path, path_length);
        to += path_length;
    }
    memcpy(to, word, strlen(word) + 1);
    return filled;
}

static char **fill_in_all(const struct options *options, const char *path)
{
    size_t count = options->arguments.count - 1;
    char **words = calloc(count + 1, sizeof *words);
    if (!words)
        abort();
    for (size_t i = 0; i < count; i++)
        words[i] = fill_in(options->arguments.items[i + 1], path);
    return words;
}

/* Only returns if it fails. */
static int execute(char **words, const struct cache_copy *copy)
{
    int status = STATUS_NOT_EXECUTABLE;
    if (fcntl(copy->hold, F_SETFD, 0) == 0) {
        (void)execvp(words[0], words);
        status = errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
    }
    output_error("cannot run '%s': %s", words[0], strerror(errno));
    return status;
}

/* A signal came before the last look, and is told, or comes after it, and does to this process what it would
 * do to the command. */
static int become(const struct options *options, const struct cache_copy *copy)
{
    char **words = fill_in_all(options, copy->path);
    struct error err = {0};
    interrupt_uninstall();
    int status = interrupt_check(&err) < 0 ? output_finish(options, NULL, &err) : execute(words, copy);
    for (char **word = words; *word; word++)
        free(*word);
    free(words);
    return status;
}

int command_run(const struct options *options)
{
    struct cache cache;
    struct cache_copy copy;
    struct warm warm;
    struct error err = {0};
    if (cache_open(&cache, &err) < 0)
        return output_finish(options, NULL, &err);
    int result = cache_get(&cache, options, options->arguments.items[0], &copy, &err);
    cache_close(&cache);
    if (result < 0)
        return output_finish(options, NULL, &err);
    if (options->warm)
        warm_path(&warm, copy.path, options);
    int status = become(options, &copy);
    cache_copy_release(&copy);
    return status;
}
